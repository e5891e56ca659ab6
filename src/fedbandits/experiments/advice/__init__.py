"""Advice: from how many parties on, or from which ε on, learning together privately pays."""
