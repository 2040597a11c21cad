"""The client of Querymill."""
