"""Ciphers: sealed packets, encrypted sums, masks, and numbers shared by two servers."""
