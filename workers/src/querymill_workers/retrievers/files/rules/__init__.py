"""Pure rules of `files`."""
