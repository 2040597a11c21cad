"""Lines about servers."""
