"""Compiled code of P-FCB: a buyer's books and purchases, its reports and those of others."""
