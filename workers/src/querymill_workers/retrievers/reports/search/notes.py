"""What the steps of a search leave on the board: the branches, and the why-not."""

from pydantic import Field

from querymill_shared.contracts.codes import OptionalCode
from querymill_shared.contracts.reports.search import Routing
from querymill_shared.contracts.why_not import Absence
from querymill_shared.values import value
from querymill_workers.jobs.notes import StepNotes
from querymill_workers.retrievers.reports.rules.joining import USUAL_WEIGHT
from querymill_workers.retrievers.reports.rules.routing import Side
from querymill_workers.vectors.rules.weights import VectorsWeight

#: The hits by words of each query: the key of a page or chunk, its best passage, and the BM25 score.
ByWords = dict[str, tuple[tuple[str, int, float], ...]]


@value
class FoundByWords:
    """A passage that the question's words found, in the page or chunk of this key."""

    key: str
    passage: int
    score: float
    is_rare: bool


@value
class Unembedded:
    """What of the routed reports has no vector: how many passages wait, how many were refused, the best by words.

    ``unsearched`` says why they could not be searched by words.
    """

    pending: int = 0
    refused: int = 0
    found: tuple[FoundByWords, ...] = ()
    unsearched: str = ""


class BranchNotes(StepNotes):
    """The notes of a finished branch: the queries that it proposed, and the reports that it searched.

    ``words`` has what the words of each query found. The branch of the original notes the passages that have no vector,
    the sides of a comparison, what there is no report of, and what the vectors weigh. ``unvectored`` says why the
    queries got no vectors and were searched by their words alone, as a sentence and a code.
    """

    texts: tuple[str, ...] = ()
    routing: Routing
    unembedded: Unembedded = Unembedded()
    words: ByWords = Field(default_factory=dict)
    unvectored: str = ""
    unvectored_code: OptionalCode = None
    sides: tuple[Side, ...] = ()
    missing: tuple[str, ...] = ()
    weight: VectorsWeight = VectorsWeight(USUAL_WEIGHT)


class AbsenceNotes(StepNotes):
    """The notes of the step that explains an absence."""

    why_not: Absence | None = None
