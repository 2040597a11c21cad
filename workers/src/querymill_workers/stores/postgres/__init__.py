"""PostgreSQL with pgvector: numbered migrations, named queries, one adapter per kind of thing stored."""
