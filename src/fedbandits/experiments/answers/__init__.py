"""Answers to the question whether learning together pays, and advice from where on it does."""
