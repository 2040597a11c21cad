"""Pure rules of `modules`."""
