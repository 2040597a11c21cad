"""Code documents, found by the API modules they use."""
