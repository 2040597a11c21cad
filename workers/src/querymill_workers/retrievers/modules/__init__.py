"""Search of code documents by the API modules they use, and by their text."""
