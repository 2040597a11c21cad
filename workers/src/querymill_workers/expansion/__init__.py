"""Expansion: what a chat model writes beside a question, and how much what it finds counts."""
