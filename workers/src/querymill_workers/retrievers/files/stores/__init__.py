"""Where `files` are stored, one technology a file."""
