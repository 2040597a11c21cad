"""Pure rules of what the vectors of a model are worth on a collection."""
