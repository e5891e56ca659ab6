"""What one learner knows, and how it chooses."""
