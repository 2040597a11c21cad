"""`messages`: a question in, the messages that mean the same out.

    question -> understand: its words, without those that only ask for messages; the rows that may be found
             -> its vector, and meanwhile the hits by words, which are on the board at once
             -> recall: the nearest rows, those with its words, those that contain it
             -> choose by the ranking that is asked for
                    best      words with neighbours, joined with vectors by rank
                    vectors   calibrated threshold, and pending rows by text, at similarity 0.5
                    hybrid    vectors and words, joined by rank
                    no vector: rows that contain the question, then by words, and why
             -> explain an absence -> show

A search is one step. Each module is one stage, and takes what the stages before it return.
"""

from dataclasses import replace
from typing import Final

from querymill_shared.board import Claim, Outcome
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.values import value
from querymill_workers.jobs import one_step
from querymill_workers.jobs.stages import Laps
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.messages.embed import EMBEDDABLE
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.search.choose import choose_messages
from querymill_workers.retrievers.messages.search.matches import Gap, MessageMatches
from querymill_workers.retrievers.messages.search.question_vector import begin_embedding, least_cosine
from querymill_workers.retrievers.messages.search.recall import recall_messages
from querymill_workers.retrievers.messages.search.show import (
    ENDING,
    MessageSearchNotes,
    findings_of,
    tell_first_hits,
    with_whole_rows,
)
from querymill_workers.retrievers.messages.search.understand import MessageQuestion, understand_question
from querymill_workers.retrievers.messages.search.why_not import explain_absence

#: Why a question has no vector while it is embedded.
PENDING: Final = Gap("embed", "", "pending")


@value
class FoundMessages:
    """The matches of a question, and what its vector has used."""

    asked: MessageQuestion
    matches: MessageMatches
    usage: ProviderUsage


def step(claim: Claim, request: MessageSearch, ports: MessagePorts) -> None:
    """Search a collection. If the question gets no vector, the search is by text and does not fail."""
    laps, found = Laps(ports), None
    while found is None:
        found = find_messages(claim, request, laps, ports)
    asked, matches = found.asked, found.matches
    laps.lap("search")
    absence = None
    if request.why_not is not None:

        def again(changed: MessageSearch) -> MessageMatches:
            """Search once more as the first search did: with its vector, or without one."""
            if asked.is_empty:
                return matches
            asking, question = replace(asked, request=changed), matches.question
            if question is not None:
                floor = least_cosine(changed.similarity_threshold, question.calibration)
                question = replace(question, min_cosine=floor)
            return choose_messages(asking, recall_messages(asking, question, ports), question, no_vector=PENDING)

        absence = explain_absence(asked, request.why_not, matches, again, ports)
        laps.lap("why_not")
    findings = findings_of(matches, request)
    notes = MessageSearchNotes(found=findings, timing=laps.ms, usage=found.usage.noted(), why_not=absence)
    outcome = Outcome(notes=notes.for_board(), ms=laps.total_ms, parts=laps.parts)
    one_step.close(claim, outcome, request, ENDING, ports)


def find_messages(claim: Claim, request: MessageSearch, laps: Laps, ports: MessagePorts) -> FoundMessages | None:
    """Find messages by vectors if there are any to compare, else by text, saying why.

    None if the collection has meanwhile switched to another model, by which the question is to be embedded again.
    """
    asked = understand_question(request)
    if asked.is_empty:
        why = "the query has no letter or digit"
        return FoundMessages(asked, MessageMatches("hybrid", (), 0, total_is_exact=True, why=why), ProviderUsage())
    embedding, first = begin_embedding(claim, asked, ports), None
    if embedding.is_running:
        # With the vector, the words are searched once more: both must see the same rows.
        first = choose_messages(asked, recall_messages(asked, None, ports), None, no_vector=PENDING)
        tell_first_hits(claim, first, ports)
        laps.lap("words")
    vector = embedding.wait()
    laps.lap("embed")
    if isinstance(vector, Gap):
        if first is None:
            first = choose_messages(asked, recall_messages(asked, None, ports), None, no_vector=vector)
        return FoundMessages(asked, replace(first, why=vector.reason, gaps=(vector, *first.gaps[1:])), ProviderUsage())
    question = vector.question
    with ports.messages.snapshot():
        recalled = recall_messages(asked, question, ports)
        matches = with_whole_rows(choose_messages(asked, recalled, question, no_vector=PENDING), asked, ports)
        vectors = ports.vectors[EMBEDDABLE.retriever]
        active = None if recalled.is_compared else vectors.active_model(request.collection)
    if active not in (None, question.model):
        return None
    cuts = vector.cuts if recalled.is_compared else ()
    return FoundMessages(asked, replace(matches, gaps=(*matches.gaps, *cuts)), vector.usage)
