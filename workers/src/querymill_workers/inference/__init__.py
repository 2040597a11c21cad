"""Embedding models, chat models and rerank endpoints. Every call to a provider goes through this package."""
