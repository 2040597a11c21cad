"""Pure rules of `reports`."""
