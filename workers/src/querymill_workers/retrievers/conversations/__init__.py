"""The retriever `conversations`: finds whole sessions by text, and ranks them by importance and age."""
