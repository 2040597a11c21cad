"""Notes, found by their words."""
