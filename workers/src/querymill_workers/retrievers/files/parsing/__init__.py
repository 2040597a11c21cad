"""Parsers that read symbols from source code."""
