"""Rules of expansion: pure functions."""
