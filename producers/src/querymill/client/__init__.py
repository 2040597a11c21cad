"""The client: it submits jobs to the board, and follows them."""
