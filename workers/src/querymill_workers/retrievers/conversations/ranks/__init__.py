"""Keep the ranks of conversations fresh, and list them."""
