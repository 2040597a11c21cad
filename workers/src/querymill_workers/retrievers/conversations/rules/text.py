"""What the words of a conversation are counted in: the same rule for a session and for a query."""

from collections.abc import Iterable

from querymill_workers.text.function_words import without_function_words


def searchable(texts: Iterable[str]) -> str:
    """Join texts for the postings of conversations, function words blanked; a query is one such text."""
    return without_function_words("\n".join(texts))
