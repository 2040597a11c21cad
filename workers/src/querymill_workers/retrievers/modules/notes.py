"""What the steps of `modules` note on the board for the code that ends their job."""

from collections.abc import Mapping
from typing import NamedTuple

from querymill_shared.contracts.modules.search import RawRecall
from querymill_shared.contracts.results import Degradation
from querymill_shared.contracts.why_not import Absence
from querymill_workers.jobs.notes import Notes, StepNotes
from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.scores import ExplainedPart
from querymill_workers.vectors.rules.weights import VectorsWeight


class ChannelRank(NamedTuple):
    """A document's place in one channel: its rank (from 1) and its score there."""

    rank: int
    score: float


class FusedDocument(NamedTuple):
    """A document in the whole ranking: its score, and its place in each channel that found it."""

    document: DocumentId
    score: float
    channels: Mapping[str, ChannelRank]


class MatchReasons(NamedTuple):
    """Why a document was found: what each part of the request adds to its score, and the modules that hit.

    Both are empty for a document that only the text channel found.
    """

    parts: tuple[ExplainedPart, ...] = ()
    keywords: tuple[str, ...] = ()


class BranchNotes(StepNotes):
    """What a branch found, and how.

    ``raw`` is what recall returned for each part. ``ranking`` is the whole ranking, best first, and ``matches``
    explains its first ``top_k`` documents. ``weights`` are the weights of the fused channels; they are empty if only
    module scores were used. ``weight`` says where that of the vectors comes from. The board holds named tuples as
    arrays.
    """

    raw: tuple[RawRecall, ...]
    ranking: tuple[FusedDocument, ...]
    matches: tuple[MatchReasons, ...]
    weights: dict[str, float]
    degraded: tuple[Degradation, ...]
    lexicon_version: int
    unknown_modules: tuple[str, ...] = ()
    why_not: Absence | None = None
    weight: VectorsWeight | None = None


class LexiconNotes(Notes):
    """The lexicon in use: its number of words, its version, and the number of documents it was learned from."""

    words: int
    version: int
    documents: int
