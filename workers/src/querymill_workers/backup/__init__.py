"""Back up and restore what Querymill keeps, over PostgreSQL, MongoDB and the board."""
