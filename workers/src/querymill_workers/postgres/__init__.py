"""PostgreSQL: the connection pool, named statements, and migrations."""
