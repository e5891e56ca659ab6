"""Own data: reading it, making contexts of its columns, and dealing its rows to the parties."""
