"""Where `reports` are stored, one technology a file."""
