"""Adapters that read symbols out of source code."""
