"""One durable party: events, transactions, its clock, what it tells of itself."""
