"""Chat messages, found by what they mean and by their words."""
