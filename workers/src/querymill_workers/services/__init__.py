"""Jobs of their own that retrievers ask for too: embed, rerank, answer."""
