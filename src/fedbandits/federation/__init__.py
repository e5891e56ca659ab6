"""Parties that exchange messages, in one process or between machines."""
