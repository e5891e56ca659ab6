"""Configurations, runs, results and reports."""
