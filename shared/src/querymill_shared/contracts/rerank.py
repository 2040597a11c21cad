"""Reranking: the `rerank` kind orders given hits by their relevance to a query, and a search may order its own."""

import re
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, FiniteFloat, StrictInt, ValidationError, ValidatorFunctionWrapHandler
from pydantic.functional_validators import WrapValidator
from pydantic_core import PydanticCustomError

from querymill_shared.contracts.fields import (
    AnyRequest,
    Contract,
    DeadlineSeconds,
    PassageText,
    QueryText,
    Request,
    TopN,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

Combine = Literal["product", "weighted", "relevance"]

#: Hits that one call judges together.
BATCH_SIZE = 10
#: How the names of the steps of a search begin in which a judge judges a batch of its candidates.
RERANK: Final = "rerank"
_BATCH: Final = re.compile(rf"{RERANK}-[0-9]{{2}}")
#: The share of its deadline that a search leaves to the judge.
JUDGE_SHARE: Final = 1 / 3
#: The candidates of a search that are judged: so many for each second that the judge has, within these bounds.
JUDGED_PER_S, LEAST_JUDGED, MOST_JUDGED = 10, 30, 100
#: Longest id of a hit, in characters.
MAX_ID_CHARS = 200


def _names_a_hit(hit_id: str | int) -> str | int:
    if not 1 <= len(str(hit_id).strip()) <= MAX_ID_CHARS:
        raise ValueError(f"must have 1 to {MAX_ID_CHARS} characters, not only blanks")
    return hit_id


#: The caller's own id of a hit.
HitId = Annotated[
    str | StrictInt,
    Field(description="your own id of the hit, a text or a whole number; it is returned as it was given"),
    AfterValidator(_names_a_hit),
]
#: The bounds are far outside the scores of any retriever, and far inside the range of a combined score.
Similarity = Annotated[FiniteFloat, Field(ge=-1e9, le=1e9)]


def judge_s(deadline_s: float) -> float:
    """Return how many seconds of its deadline a search leaves to the judge."""
    return deadline_s * JUDGE_SHARE


def most_judged(deadline_s: float) -> int:
    """Return how many of its candidates a search has judged at most, whatever number of hits it returns.

    >>> most_judged(30.0), most_judged(15.0), most_judged(2.0)
    (100, 50, 30)
    """
    return min(max(int(JUDGED_PER_S * judge_s(deadline_s)), LEAST_JUDGED), MOST_JUDGED)


def batch_names(count: int) -> tuple[str, ...]:
    """Return the names of the steps that judge so many candidates.

    >>> batch_names(21)
    ('rerank-01', 'rerank-02', 'rerank-03')
    """
    return tuple(f"{RERANK}-{number:02}" for number in range(1, -(-count // BATCH_SIZE) + 1))


def batch_of(step: str) -> slice:
    """Return which of the candidates a step judges.

    >>> batch_of("rerank-02")
    slice(10, 20, None)
    """
    start = (int(step.removeprefix(f"{RERANK}-")) - 1) * BATCH_SIZE
    return slice(start, start + BATCH_SIZE)


def judges_batch(step: str) -> bool:
    """Return whether a step of a search judges a batch of its candidates."""
    return _BATCH.fullmatch(step) is not None


def _always_never_or_auto(given: object, known: ValidatorFunctionWrapHandler) -> object:
    try:
        return known(given)
    except ValidationError:
        raise PydanticCustomError("rerank", "must be true, false or 'auto'") from None


WhenToRerank = Annotated[Literal["auto"] | bool, WrapValidator(_always_never_or_auto)]


class Reranks(AnyRequest):
    """Base class of the searches whose best candidates a relevance judge may order.

    The judge is a rerank endpoint (`RERANK_BASE_URL`), or the chat model. It reads the first 30 to 100 candidates, ten
    for each second of the third of the deadline that is left to it. How many hits are returned makes no difference to
    what it reads. What it has not judged follows in the order of the search. If ``rerank`` is "auto", a fleet without a
    judge searches as if nothing had been said; if it is True, ``degraded`` says that there is none.
    """

    rerank: Annotated[
        WhenToRerank,
        Field(
            description="let a relevance judge order the best candidates: true, false, or auto (where a rerank endpoint"
            " or a chat model that writes answers is configured)"
        ),
    ] = False

    def queue_of(self, step: str) -> Queue:
        """Return the queue of a step: batches wait for the judge."""
        return Queue.RERANK if judges_batch(step) else super().queue_of(step)


class RerankCandidate(Contract):
    """A hit to judge.

    Attributes:
        text: what the hit says, which the judge reads
        score: similarity of the hit to the query, as its retriever computed it; higher is better
    """

    id: HitId
    text: PassageText
    score: Similarity

    @property
    def key(self) -> str:
        """The id as text, which names the hit inside the job."""
        return str(self.id)


def _ids_occur_once(hits: tuple[RerankCandidate, ...]) -> tuple[RerankCandidate, ...]:
    seen: set[str] = set()
    for hit in hits:
        if hit.key in seen:
            raise ValueError(f"every id must occur once, {hit.key!r} occurs again")
        seen.add(hit.key)
    return hits


class Rerank(Request, Asks["RerankResult"]):
    """Judge the relevance of each hit to a query, and order the hits by relevance and similarity combined.

    Hits without a judgement keep their order, below the judged ones. Each batch of hits is a step.

    Attributes:
        query: the question that the hits are judged by
        hits: ranking to reorder, best first; no id may occur twice
        combine: how the score is made: "product", relevance × similarity; "weighted", 0.7 × relevance + 0.3 ×
            similarity; "relevance", the relevance alone
        top_n: number of hits returned; null: all
    """

    queue: ClassVar[Queue] = Queue.RERANK
    kind: Literal["rerank"] = "rerank"
    query: QueryText
    hits: Annotated[tuple[RerankCandidate, ...], Field(min_length=1, max_length=200), AfterValidator(_ids_occur_once)]
    combine: Combine = "product"
    top_n: TopN | None = None
    deadline: DeadlineSeconds = 30.0

    @property
    def steps(self) -> tuple[str, ...]:
        """The batches in the order of the hits, which is also the order of their names."""
        return tuple(f"batch-{number:02}" for number in range(1, -(-len(self.hits) // BATCH_SIZE) + 1))

    def batch(self, step: str) -> tuple[RerankCandidate, ...]:
        """Return the hits that a step judges."""
        start = self.steps.index(step) * BATCH_SIZE
        return self.hits[start : start + BATCH_SIZE]


class RerankedHit(Contract):
    """A hit after the rerank.

    Attributes:
        score: relevance and similarity combined; of a hit without a judgement, its similarity alone, which cannot be
            compared with the scores of the judged hits above it
        similarity: `score` of the hit in the request
        relevance: how far the hit answers the query, as the judge says, from 0 (not at all) to 1; null: not judged
        judged: whether the hit was judged
        explanation: every number that is needed to recompute the score by hand, with the formula, and the `rank` of
            the hit in the request, from 1
    """

    id: HitId
    score: float
    similarity: float
    relevance: float | None
    judged: bool
    explanation: dict[str, Any]


class RerankResult(JobResult):
    """The result of a `Rerank`. ``total`` is the number of hits before the cut to top_n.

    Attributes:
        query: the question that the hits were judged by
        collection: collection of the request
        results: reordered hits, best first: the judged ones, then the others in their order
    """

    kind: Literal["rerank"] = "rerank"
    query: str
    collection: str
    results: tuple[RerankedHit, ...]
