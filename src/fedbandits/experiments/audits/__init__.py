"""Audits: attacks on what each system of an experiment claims, and a verdict for each."""
