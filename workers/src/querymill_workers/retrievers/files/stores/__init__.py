"""The stores of `files`: one technology per file."""
