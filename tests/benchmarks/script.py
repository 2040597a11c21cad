"""How long the scripted models and store take, and what they find."""

from collections.abc import Iterable

from querymill_workers.retrievers.reports.ports import FoundPassage

LLM_S, EMBEDDING_S, SEARCH_S = 0.200, 0.020, 0.005
#: The longest branch: what no orchestration can beat.
IDEAL_MS = (LLM_S + EMBEDDING_S + SEARCH_S) * 1000
COLLECTION = "bench"
PAGES = 20


def found(queries: Iterable[str]) -> list[FoundPassage]:
    """Find every page for every query, with scores that differ by page."""
    return [FoundPassage(query, "r", page, page, 0.9 - page / 100) for query in queries for page in range(PAGES)]
