"""Explain why a message is not among the hits. Every lever is a search that was run."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final

from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.sessions import message_key
from querymill_shared.contracts.why_not import Absence, Lever
from querymill_shared.values import value
from querymill_workers.retrievers.messages.ports import MessagePorts
from querymill_workers.retrievers.messages.rules.sessions import MessageFilter, MessageRow, vector_id
from querymill_workers.retrievers.messages.search.matches import MessageMatches
from querymill_workers.retrievers.messages.search.understand import MessageQuestion
from querymill_workers.text.calibration import band

#: What a message passes on its way to the hits, in order.
GATES: Final = ("collection", "session", "filter", "exclusions", "vector or words", "threshold", "limit")
#: What is said of the gates that ask whether a message may be found at all.
NOT_SEARCHED: Final = {
    "collection": "the collection has no such message",
    "session": "it is from another session",
    "filter": "it does not pass the filter",
    "exclusions": "it is left out: it is the message given as excluded, or of a type that is not searched",
}
#: The longest list that a request may ask for.
LONGEST: Final = 200

#: Runs the search once more, with other fields and the same question.
SearchAgain = Callable[[MessageSearch], MessageMatches]
_PLACES: Final = 3


@value
class MissedGate:
    """The first gate that a message did not pass, what is said of it, and what would bring the message in."""

    name: str
    said: str
    lever: Lever | None = None


def explain_absence(
    asked: MessageQuestion, wanted: str, found: MessageMatches, again: SearchAgain, ports: MessagePorts
) -> Absence:
    """Name the first gate that a message did not pass, with its numbers and what would bring it in."""
    place, passed = 0, dict[str, str]()
    with ports.messages.snapshot():
        row = find_row(asked, wanted, found, ports)
        if isinstance(row, str):
            missed: MissedGate | None = MissedGate(row, NOT_SEARCHED[row])
        else:
            question = found.question
            similarity = None if question is None or row.raw is None else question.similarity(row)
            if similarity is not None:
                passed = {"vector or words": f"similarity {similarity:.3f}"}
            place = place_of(row, found)
            missed = None if place else missed_gate(row, similarity, asked.request, found, again)
    if missed is None:
        return Absence.as_hit(wanted, GATES, place, passed=passed)
    return Absence.at(wanted, GATES, missed.name, missed.said, passed=passed, lever=missed.lever)


def find_row(asked: MessageQuestion, wanted: str, found: MessageMatches, ports: MessagePorts) -> MessageRow | str:
    """Return the row of a message as the search sees it, or the gate that keeps it from being searched."""
    every, where = MessageFilter(asked.where.collection, ("message", "context")), asked.where
    narrower = {
        "collection": every,
        "session": replace(every, session_id=where.session_id),
        "filter": replace(every, session_id=where.session_id, conditions=where.conditions),
        "exclusions": where,
    }
    question, row = found.question, None
    vector, model = (None, ports.embeddings.model) if question is None else (question.vector, question.model)
    ids = ids_named(wanted, asked.request.session_id)
    for gate, filtered in narrower.items():
        rows = ports.messages.rows(filtered, ids, vector, model=model)
        row = next((rows[id_] for id_ in ids if id_ in rows), None)
        if row is None:
            return gate
    return row if row is not None else "collection"


def ids_named(wanted: str, session_id: str | None) -> Sequence[str]:
    """Return the vector ids that a name may mean.

    It is one itself; or the session's id and the message's own, such as "s1/m7", wherever the "/" between them is; or
    in a search of one session the message's own id.
    """
    named = [(wanted[:place], wanted[place + 1 :]) for place, character in enumerate(wanted) if character == "/"]
    named += [(session_id, wanted)] if session_id is not None else []
    return [wanted, *(vector_id(session, message_key(own, 0), "message") for session, own in named if session and own)]


def missed_gate(
    row: MessageRow, similarity: float | None, request: MessageSearch, found: MessageMatches, again: SearchAgain
) -> MissedGate:
    """Find the gate that a message did not pass although it is searched."""

    def asking(**fields: Any) -> MessageMatches:
        return again(request.model_copy(update=fields))

    whole = asking(limit=LONGEST, similarity_threshold=None)
    if not place_of(row, whole):
        said = say_unfound(similarity, compared=found.question is not None, looked_at=len(whole.best))
        return MissedGate("vector or words", said)
    above = asking(limit=LONGEST)
    place, threshold = place_of(row, above), request.similarity_threshold
    if not place and threshold is not None and similarity is not None:
        lever = lower_threshold(row, similarity, request, asking)
        return MissedGate("threshold", say_below(similarity, threshold), lever)
    longer = place_of(row, asking(limit=place)) if place else 0
    lever = Lever(fields={"limit": place}, place=longer) if longer else None
    return MissedGate("limit", say_place(place, above.total, limit=request.limit), lever)


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


def say_unfound(similarity: float | None, *, compared: bool, looked_at: int) -> str:
    """Say that neither its vector nor its words brought a message near the head of the list."""
    if not compared:
        return f"the question got no vector, and by words it is not among the best {looked_at}"
    near = "it has no vector" if similarity is None else f"its similarity is {similarity:.{_PLACES}f}"
    return f"{near}; neither by vector nor by words is it among the best {looked_at}"


def say_below(similarity: float, threshold: float) -> str:
    """Say by how much a message misses the threshold: "0.412 (low), the threshold is 0.700 (medium)"."""
    return (
        f"{similarity:.{_PLACES}f} ({band(similarity)}), the threshold is {threshold:.{_PLACES}f} ({band(threshold)})"
    )


def say_place(place: int, total: int, *, limit: int) -> str:
    """Say that better hits fill the list."""
    return f"place {place} of {total}, {limit} {'is' if limit == 1 else 'are'} returned"


def threshold_for(similarity: float) -> float:
    """Return the threshold, to three places, that a similarity reaches: 0.6127 gives 0.612."""
    return max(int(similarity * 10**_PLACES) / 10**_PLACES, 0.0)
