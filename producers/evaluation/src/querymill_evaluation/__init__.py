"""Measure retrieval on sets with relevance judgements."""
