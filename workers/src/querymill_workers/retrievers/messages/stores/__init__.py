"""The stores of `messages`: in memory and in PostgreSQL."""
