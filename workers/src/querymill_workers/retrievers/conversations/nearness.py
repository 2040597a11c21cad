"""The sessions whose passages are nearest to a question, and why there may be none.

The words have answered by then: the vector of the question is waited for no longer than its patience.
"""

from dataclasses import field
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.results import Degradation
from querymill_shared.values import frozen
from querymill_workers.inference.ports import Embeddings, cut_of
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S, caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import Usage
from querymill_workers.retrievers.conversations.embed import model_to_compare
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import CachedSearch
from querymill_workers.retrievers.conversations.ports.passages import NearSession, PassageFilter, Vector
from querymill_workers.retrievers.conversations.recall import CANDIDATES
from querymill_workers.retrievers.conversations.rules.question_frames import unframed
from querymill_workers.retrievers.conversations.understanding import Question
from querymill_workers.text.words import words

#: Time kept free before the deadline, so that the words can answer after a failed embedding, in seconds.
FALLBACK_MARGIN_S: Final = 0.3


@frozen
class Nearness:
    """The sessions nearest to a question, nearest first, what is missing, and the provider calls and tokens.

    ``asked`` tells whether vectors were to be joined at all.
    """

    sessions: tuple[NearSession, ...] = ()
    gaps: tuple[Degradation, ...] = ()
    usage: Usage = field(default_factory=Usage)
    asked: bool = True


def find_near(claim: Claim, question: Question, recalled: CachedSearch, ports: ConversationPorts) -> Nearness:
    """Find the nearest sessions under the filter of the words, unless the question asks for none."""
    request = question.request
    if not request.joins_vectors or recalled.is_recap or not words(request.query):
        return Nearness(asked=False)
    searched_by = ports.conversation_passages.searched_by(request.collection)
    if searched_by is None:
        # Nothing is embedded yet, so the model need not be asked.
        counted = ports.conversation_passages.counts(request.collection, model=ports.embeddings.model)
        return Nearness(gaps=lacking(counted.pending))
    try:
        model = model_to_compare(searched_by, ports)
        vector, usage = embed_question(claim, question, model, ports)
    except (Unavailable, Refused) as error:
        return Nearness(gaps=(Degradation(stage="embed", reason=str(error), code=error.code),))
    found = ports.conversation_passages.nearest(
        request.collection,
        vector,
        model=model.model,
        limit=CANDIDATES[recalled.understanding.mode],
        where=where_to_look(question, recalled),
    )
    cut = cut_of(request.query, model)
    gaps = (*lacking(found.pending), *(() if cut is None else (Degradation(stage="embed", reason=cut, code="cut"),)))
    # A passage at a right angle, or beyond, has nothing to do with the question.
    return Nearness(tuple(near for near in found.sessions if near.cosine > 0), gaps, usage)


def lacking(pending: int) -> tuple[Degradation, ...]:
    """Say how many passages are found by their words alone."""
    return (Degradation(stage="embed", reason=f"{pending} rows pending", code="pending"),) if pending else ()


def where_to_look(question: Question, recalled: CachedSearch) -> PassageFilter:
    """Return which passages are compared: those that the words were searched in. A relaxed time leaves out none."""
    if question.timed is None or recalled.relaxed is not None:
        return PassageFilter(recalled.groups)
    return PassageFilter(recalled.groups, question.timed.range.start, question.timed.range.end)


def embed_question(
    claim: Claim, question: Question, model: Embeddings, ports: ConversationPorts
) -> tuple[Vector, Usage]:
    """Embed the question without its time and its frame, which would be near to talks about talks.

    Raises:
        Unavailable, Refused: There is no vector in time.
    """
    request, timed = question.request, question.timed
    text = timed.rest if timed is not None and words(timed.rest) else request.query
    if request.simplification:
        text, _ = unframed(text)
    try:
        caller = caller_of(
            claim,
            request,
            ports,
            margin_s=FALLBACK_MARGIN_S,
            what="the embedding model",
            patience_s=EMBEDDING_PATIENCE_S,
        )
    except Unavailable:
        # No time is left to ask, but a vector that is cached takes none.
        known = model.cached([text], input_type="query", collection=request.collection)
        if known is None:
            raise
        return known[0], Usage()
    vectors, usage = model.embed([text], input_type="query", caller=caller)
    return vectors[0], usage
