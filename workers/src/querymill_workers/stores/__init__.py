"""Adapters to the databases, one technology per file or folder."""
