"""Vectors of passages: made, refused, replaced by those of another model, in the same way for every retriever."""
