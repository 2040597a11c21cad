"""Pure rules of reranking, and of writing answers."""
