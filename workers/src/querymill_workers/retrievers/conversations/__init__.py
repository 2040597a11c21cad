"""Whole sessions, found by their words and ranked by their worth."""
