"""The order of acceptance: which write of a document stands, and what was forgotten."""
