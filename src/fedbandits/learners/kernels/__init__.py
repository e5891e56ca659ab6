"""Compiled code of learners: what one learner knows, and how it chooses."""
