"""Listing, showing, exporting and dropping documents: the same for every retriever. See README.md."""
