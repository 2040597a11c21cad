"""Read the time that a question mentions."""
