"""A collection of each retriever, for every test of embedding."""

from tests.fixtures.embedded import collection

__all__ = ["collection"]
