"""A directory as files: which of them are source, and their texts."""
