"""Measuring retrieval on sets with relevance judgements."""
