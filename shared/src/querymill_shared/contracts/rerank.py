"""The `rerank` kind: hits that somebody has already, put in the order of their relevance to a query."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field, FiniteFloat, StrictInt

from querymill_shared.contracts.fields import Contract, DeadlineSeconds, PassageText, QueryText, Request, TopN
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue

Combine = Literal["product", "weighted"]

#: Hits that are judged side by side, by one call.
BATCH_SIZE = 10
#: In characters.
LONGEST_ID = 200


def _names_a_hit(hit_id: str | int) -> str | int:
    if not 1 <= len(str(hit_id).strip()) <= LONGEST_ID:
        raise ValueError(f"must have 1 to {LONGEST_ID} characters, not only blanks")
    return hit_id


#: A hit's id is the caller's own, text or a whole number, and comes back as it was given.
HitId = Annotated[str | StrictInt, AfterValidator(_names_a_hit)]
#: Far outside any retriever's scores, and far inside what a combined score may reach.
Similarity = Annotated[FiniteFloat, Field(ge=-1e9, le=1e9)]


class RerankCandidate(Contract):
    """A hit to judge; ``score`` is its similarity to the query, higher is better."""

    id: HitId
    text: PassageText
    score: Similarity

    @property
    def key(self) -> str:
        """The id as text: what names the hit inside the job."""
        return str(self.id)


def _ids_occur_once(hits: tuple[RerankCandidate, ...]) -> tuple[RerankCandidate, ...]:
    seen: set[str] = set()
    for hit in hits:
        if hit.key in seen:
            raise ValueError(f"every id must occur once, {hit.key!r} occurs again")
        seen.add(hit.key)
    return hits


class Rerank(Request, Asks["RerankResult"]):
    """Judge each hit's relevance to a query, and order the hits by relevance and similarity together.

    ``hits`` is a ranking, best first: a hit that nobody judged keeps its place in it, below the judged ones.
    ``top_n`` cuts the reranked list; without it every hit comes back. The judged batches are the steps.
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
        """The batches in the order of the hits; the names sort in that order too."""
        return tuple(f"batch-{number:02}" for number in range(1, -(-len(self.hits) // BATCH_SIZE) + 1))

    def batch(self, step: str) -> tuple[RerankCandidate, ...]:
        """Return the hits that a step judges."""
        start = self.steps.index(step) * BATCH_SIZE
        return self.hits[start : start + BATCH_SIZE]


class RerankedHit(Contract):
    """A hit after the rerank.

    ``score`` combines relevance and similarity. A hit that was not judged has no relevance; its score is its
    similarity alone, which says nothing beside the scores of the judged hits above it. ``explanation`` holds
    every number needed to recompute the score by hand, and the hit's ``rank`` in the request, from 1.
    """

    id: HitId
    score: float
    similarity: float
    relevance: float | None
    judged: bool
    explanation: dict[str, Any]


class RerankResult(JobResult):
    """The answer to a `Rerank`, best hit first. ``total`` counts the hits before the cut to top_n."""

    kind: Literal["rerank"] = "rerank"
    query: str
    collection: str
    results: tuple[RerankedHit, ...]
