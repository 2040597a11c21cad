"""Pure rules of a search over everything."""
