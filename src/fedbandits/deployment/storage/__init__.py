"""A party's database: its tables, its transactions, one process at a time."""
