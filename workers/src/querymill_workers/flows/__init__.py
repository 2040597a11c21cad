"""The story: one file per kind of job, read top to bottom; `journey` is how every step travels."""
