"""Ciphers: sealed scores, and rewards that only their owner can add up."""
