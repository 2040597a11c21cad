"""Where `messages` are stored, one technology a file."""
