"""The text that is indexed and searched: sessions and queries follow the same rule."""

from collections.abc import Iterable

from querymill_workers.text.function_words import without_function_words


def searchable(texts: Iterable[str]) -> str:
    """Join texts for indexing or searching, with their function words blanked."""
    return without_function_words("\n".join(texts))
