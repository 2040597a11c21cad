"""Exact BM25 over postings: what it is found by, on PostgreSQL and in memory."""
