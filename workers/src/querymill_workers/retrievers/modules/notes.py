"""What the steps of `modules` leave on the board."""

from typing import Literal, NamedTuple

from querymill_shared.contracts.modules.search import RawRecall
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.notes import Notes, StepNotes
from querymill_workers.retrievers.modules.rules.join import FusedHit
from querymill_workers.retrievers.modules.rules.scores import ExplainedPart


class Matches(NamedTuple):
    """Why a document was found: what each sub-query adds to its score, and the modules that hit.

    Both are empty for a document that only the text channel found.
    """

    parts: tuple[ExplainedPart, ...] = ()
    keywords: tuple[str, ...] = ()


class SearchNotes(StepNotes):
    """What a branch found, and how.

    ``raw`` is what recall returned for each sub-query, ``ranking`` the whole ranking, best first, and ``matches``
    explains its first ``top_k`` documents. ``weights`` are those of the channels that were joined, empty where the
    module scores stand alone. Pairs and triples are arrays on the board.
    """

    raw: tuple[RawRecall, ...]
    ranking: tuple[FusedHit, ...]
    matches: tuple[Matches, ...]
    weights: dict[str, float]
    degraded: tuple[Degradation, ...]
    lexicon_version: int


class IngestNotes(Notes):
    """What ingestion did, and how many modules the document names."""

    outcome: Literal["ingested", "unchanged"]
    modules: int


class LexiconNotes(Notes):
    """The lexicon in use: its words, its version, and the documents it was learned from."""

    words: int
    version: int
    documents: int
