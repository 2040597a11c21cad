"""Pure rules of `notes`."""
