"""PostgreSQL: the pool, the named statements, the migrations."""
