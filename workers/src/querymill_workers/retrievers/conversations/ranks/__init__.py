"""How the ranks of conversations are kept fresh and listed."""
