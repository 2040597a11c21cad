"""Explain why a message is not among the hits. Every lever is a search that was run."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Final

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_workers.retrievers.messages.matches import MessageMatches
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.absence import (
    GATES,
    NOT_SEARCHED,
    say_below,
    say_place,
    say_unfound,
    threshold_for,
)
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow

#: The longest list that a request may ask for.
LONGEST: Final = 200

#: Runs the search once more, with other fields and the same question.
SearchAgain = Callable[[MessageSearch], MessageMatches]


def explain_absence(
    request: MessageSearch, wanted: str, found: MessageMatches, again: SearchAgain, ports: MessagePorts
) -> Absence:
    """Name the first gate that a message did not pass, with its numbers and what would bring it in."""
    with ports.messages.snapshot():
        row = find_row(request, wanted, found, ports)
        if isinstance(row, str):
            return Absence.at(wanted, GATES, row, NOT_SEARCHED[row])
        similarity = None if found.question is None or row.raw is None else found.question.similarity(row)
        passed = {} if similarity is None else {"vector or words": f"similarity {similarity:.3f}"}
        if place := place_of(row, found):
            return Absence.as_hit(wanted, GATES, place, passed=passed)

        def asking(**fields: Any) -> MessageMatches:
            return again(request.model_copy(update=fields))

        whole = asking(limit=LONGEST, similarity_threshold=None)
        if not place_of(row, whole):
            said = say_unfound(similarity, compared=found.question is not None, looked_at=len(whole.best))
            return Absence.at(wanted, GATES, "vector or words", said)
        above = asking(limit=LONGEST)
        place, threshold = place_of(row, above), request.similarity_threshold
        if not place and threshold is not None and similarity is not None:
            lever = lower_threshold(row, similarity, request, asking)
            said = say_below(similarity, threshold)
            return Absence.at(wanted, GATES, "threshold", said, passed=passed, lever=lever)
        said = say_place(place, above.total, limit=request.limit)
        longer = place_of(row, asking(limit=place)) if place else 0
        lever = Lever(fields={"limit": place}, place=longer) if longer else None
        return Absence.at(wanted, GATES, "limit", said, passed=passed, lever=lever)


def find_row(request: MessageSearch, wanted: str, found: MessageMatches, ports: MessagePorts) -> MessageRow | str:
    """Return the row of a message as the search sees it, or the gate that keeps it from being searched."""
    every = MessageFilter(request.collection, ("message", "context"))
    narrower = {
        "collection": every,
        "session": replace(every, session_id=request.session_id),
        "filter": replace(every, session_id=request.session_id, conditions=request.filter),
        "exclusions": MessageFilter(
            request.collection,
            request.vector_types,
            request.session_id,
            request.exclude_message_id,
            request.exclude_session_id,
            conditions=request.filter,
        ),
    }
    question, row = found.question, None
    vector, model = (None, ports.embeddings.model) if question is None else (question.vector, question.model)
    for gate, where in narrower.items():
        row = ports.messages.rows(where, [wanted], vector, model=model).get(wanted)
        if row is None:
            return gate
    return row if row is not None else "collection"


def place_of(row: MessageRow, found: MessageMatches) -> int:
    """Return the place of a message among matches, from 1; 0 if it is not there. Its context counts as the message."""
    return next((place for place, match in enumerate(found.best, start=1) if match.row.message == row.message), 0)


def lower_threshold(
    row: MessageRow, similarity: float, request: MessageSearch, asking: Callable[..., MessageMatches]
) -> Lever | None:
    """Return the threshold that lets a message through, with a longer list if its place needs it."""
    threshold = threshold_for(similarity)
    place = place_of(row, asking(similarity_threshold=threshold, limit=LONGEST))
    fields: dict[str, Any] = {"similarity_threshold": threshold}
    if place > request.limit:
        fields["limit"] = place
        place = place_of(row, asking(**fields))
    return Lever(fields=fields, place=place) if place else None
