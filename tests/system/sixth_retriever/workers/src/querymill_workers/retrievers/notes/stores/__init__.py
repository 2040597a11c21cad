"""Where `notes` are stored, one technology a file."""
