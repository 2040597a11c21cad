"""The sessions whose passages are nearest to a question, and why there may be none.

The words have answered by then: the vector of the question is waited for no longer than its patience.
"""

from dataclasses import field
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import value
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.conversations.embed import EMBEDDABLE
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.ports.passages import NearSession, PassageFilter
from querymill_workers.retrievers.conversations.ports.sessions import KIND
from querymill_workers.retrievers.conversations.search.understand import ConversationQuestion
from querymill_workers.vectors.question import embed_question
from querymill_workers.vectors.rules.worth import VectorsWorth

#: Time kept free before the deadline, so that the words can answer after a failed embedding, in seconds.
FALLBACK_MARGIN_S: Final = 0.3


@value
class RecalledByVectors:
    """The sessions nearest to a question, nearest first, what is missing, and the provider calls and tokens.

    ``asked`` tells whether vectors were to be joined at all, and ``worth`` what they are worth, if that is known.
    """

    sessions: tuple[NearSession, ...] = ()
    gaps: tuple[Degradation, ...] = ()
    usage: ProviderUsage = field(default_factory=ProviderUsage)
    asked: bool = True
    worth: VectorsWorth | None = None


def recall_by_vectors(
    claim: Claim, question: ConversationQuestion, recalled: CachedSearch, ports: ConversationPorts
) -> RecalledByVectors:
    """Find the nearest sessions under the filter of the words, unless the question asks for none.

    Raises:
        Unavailable: A store is away. That is no reason to search by words: the next attempt finds it back.
    """
    request = question.request
    if not request.joins_vectors or recalled.is_recap or not question.embedded:
        return RecalledByVectors(asked=False)
    vectors = ports.vectors[KIND]
    if vectors.active_model(request.collection) is None:
        # Nothing is embedded yet, so the model need not be asked.
        counted = vectors.counts(request.collection, model=ports.embeddings.model)
        return RecalledByVectors(gaps=lacking(counted.pending))
    try:
        embedded = embed_question(
            EMBEDDABLE, claim, request, [question.embedded], ports,
            margin_s=FALLBACK_MARGIN_S, patience_s=EMBEDDING_PATIENCE_S,
        )  # fmt: skip
    except (Unavailable, Refused) as error:
        if error.code == "store_down":
            raise
        return RecalledByVectors(gaps=(Degradation(stage="embed", reason=str(error), code=error.code),))
    # The passages are those that the words were searched in. A relaxed time leaves out none.
    span = None if recalled.relaxed is not None else question.span
    where = PassageFilter(recalled.groups) if span is None else PassageFilter(recalled.groups, span.start, span.end)
    found = ports.conversation_passages.nearest(
        request.collection, embedded.vectors[0], model=embedded.model, limit=question.candidates, where=where
    )
    cuts = (Degradation(stage="embed", reason=cut, code="cut") for cut in embedded.cuts)
    gaps = (*lacking(found.pending), *cuts)
    # A passage at a right angle, or beyond, has nothing to do with the question.
    sessions = tuple(near for near in found.sessions if near.cosine > 0)
    return RecalledByVectors(
        sessions, gaps, embedded.usage, worth=vectors.worth(request.collection, model=embedded.model)
    )


def lacking(pending: int) -> tuple[Degradation, ...]:
    """Say how many passages are found by their words alone."""
    return (Degradation(stage="embed", reason=f"{pending} rows pending", code="pending"),) if pending else ()
