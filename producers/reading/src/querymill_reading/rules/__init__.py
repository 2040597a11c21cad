"""Rules of reading: pure functions over plain data."""
