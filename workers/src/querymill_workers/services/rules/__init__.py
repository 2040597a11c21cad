"""Pure rules of reranking and answering."""
