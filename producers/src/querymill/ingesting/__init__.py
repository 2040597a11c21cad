"""Documents on their way in: read, packed into jobs, followed, counted."""
