"""What one buyer computes, compiled: its books, its purchases, its reports and those of others."""
