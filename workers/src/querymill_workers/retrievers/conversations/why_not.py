"""Why a session is not among the hits: the first gate that it did not pass."""

from collections.abc import Sequence

from querymill_shared.contracts.conversations.search import WhyNot
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import Recalled
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.ranking import Scored
from querymill_workers.retrievers.conversations.showing import order_of, top_n
from querymill_workers.retrievers.conversations.understanding import Asked, active


def why_not(
    asked: Asked, wanted: str, recalled: Recalled, ranking: Sequence[Scored], ports: ConversationPorts
) -> WhyNot:
    """Name the first gate that a session did not pass."""
    collection = asked.request.collection
    if wanted not in ports.conversations.heads(collection, [wanted]):
        return WhyNot(session_id=wanted, gate="collection", reason="the collection has no such session")
    let_through = active(asked, ports.conversations)
    if let_through is not None and wanted not in let_through:
        return WhyNot(session_id=wanted, gate="time", reason="none of its messages is from the time asked for")
    if wanted in {one.hit.id for one in ranking}:
        return why_not_placed(asked, wanted, recalled, ranking)
    own = ports.words.search(collection, SPACE, recalled.asked, most=1, groups=[wanted])
    if not own:
        return WhyNot(session_id=wanted, gate="words", reason="it has none of the words that were searched")
    least = recalled.candidates[-1].score if recalled.candidates else 0.0
    reason = f"its BM25 is {own[0].score:.4f}; the last of the {len(recalled.candidates)} candidates has {least:.4f}"
    return WhyNot(session_id=wanted, gate="candidates", reason=reason)


def why_not_placed(asked: Asked, wanted: str, recalled: Recalled, ranking: Sequence[Scored]) -> WhyNot:
    """Say where a candidate stands, and whether its score or its likeness to others kept it out."""
    mode = recalled.understanding.mode
    most = top_n(asked.request, mode)
    place = next(number for number, one in enumerate(ranking, start=1) if one.hit.id == wanted)
    order = [one.session_id for one in order_of(asked, mode, ranking)]
    if wanted in order:
        return WhyNot(session_id=wanted, gate=None, reason=f"it is hit {order.index(wanted) + 1}")
    reason = f"place {place} of {len(ranking)} by score ({ranking[place - 1].final.score:.4f}), {most} are returned"
    return WhyNot(session_id=wanted, gate="diversification" if place <= most else "score", reason=reason)
