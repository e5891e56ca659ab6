"""Runs and audits of experiments, their results and reports."""
