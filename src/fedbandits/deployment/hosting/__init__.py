"""One durable party: events, transactions, its clock, and reports of its state."""
