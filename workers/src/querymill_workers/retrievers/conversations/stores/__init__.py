"""Where `conversations` are stored, one technology a file."""
