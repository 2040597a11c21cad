"""The five retrievers as the command line shows them, a folder each."""
