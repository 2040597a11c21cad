"""What the branches of a search leave on the board."""

from collections.abc import Mapping, Sequence

from pydantic import Field

from querymill_shared.contracts.codes import OptionalCode
from querymill_shared.contracts.reports.search import Routing
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.retrievers.reports.recall import Unembedded
from querymill_workers.retrievers.reports.rules.fusion import decode_key
from querymill_workers.retrievers.reports.rules.joining import WordsHit
from querymill_workers.retrievers.reports.rules.routing import Side


class BranchNotes(StepNotes):
    """The notes of a finished branch: the queries that it proposed, and the reports that it searched.

    ``words`` has what the words of each query found: the key of a page or chunk, its passage, and the BM25 score. That
    of the original notes the passages that have no vector, the sides of a comparison, and what there is no report of.
    ``unvectored`` says why the queries got no vectors and were searched by their words alone, as a sentence and a code.
    """

    texts: tuple[str, ...] = ()
    routing: Routing
    unembedded: Unembedded = Unembedded()
    words: dict[str, tuple[tuple[str, int, float], ...]] = Field(default_factory=dict)
    unvectored: str = ""
    unvectored_code: OptionalCode = None
    sides: tuple[Side, ...] = ()
    missing: tuple[str, ...] = ()


def read_words(words: Mapping[str, Sequence[tuple[str, int, float]]]) -> list[WordsHit]:
    """Return what the words of queries found, as rules take it."""
    return [
        WordsHit(query, decode_key(key), passage, bm25)
        for query, found in words.items()
        for key, passage, bm25 in found
    ]
