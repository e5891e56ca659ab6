"""Compiled code of environments: a module for every kind of world."""
