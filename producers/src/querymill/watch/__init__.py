"""Following files: what grows, appears or is replaced is sent as it comes, and nothing twice."""
