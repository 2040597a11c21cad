"""Writes of sessions: whole ones and live messages, each in the order of its acceptance."""
