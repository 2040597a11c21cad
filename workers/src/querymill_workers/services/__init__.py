"""Kinds of job that belong to no retriever (embed, rerank, answer), and the steps that retrievers share with them."""
