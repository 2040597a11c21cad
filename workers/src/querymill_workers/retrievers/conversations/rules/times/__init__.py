"""The time that a question speaks of."""
