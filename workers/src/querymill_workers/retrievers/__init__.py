"""The five retrievers, one flat each; none imports another."""
