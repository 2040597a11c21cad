"""Stores of the vectors of single texts, one technology a file."""
