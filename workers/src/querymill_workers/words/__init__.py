"""Text indexes with exact BM25, on PostgreSQL and in memory."""
