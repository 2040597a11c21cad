"""The `messages` retriever: finds chat messages by meaning and by words."""
