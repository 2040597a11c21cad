"""Stores of code documents, one technology per file."""
