"""Stores of reports, one technology a file."""
