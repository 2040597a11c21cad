"""Where `modules` are stored, one technology a file."""
