"""What people say of the hits of a search, as the request that keeps it."""

from querymill.presenting.hit import views_of
from querymill.presenting.places import Place
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.feedback import GiveFeedback, HitJudgement
from querymill_shared.contracts.jobs import AnyResult, JobRequest
from querymill_shared.contracts.kinds import KindResult, KindSearch


def feedback_on(
    job_id: str, asked: JobRequest | None, result: AnyResult, *, hit: str, relevance: int, comment: str = ""
) -> GiveFeedback:
    """Return the request that keeps a judgement of a hit.

    ``hit`` is the id by which screens name it (`HitView.key`), or that of its document if no other hit is a part of it.

    Raises:
        InvalidRequest: The job is no search of one kind, or its result has no such hit.
    """
    if not isinstance(result, KindResult) or not isinstance(asked, KindSearch):
        raise InvalidRequest(("job_id", "must be a search of one kind, because its hits are what is judged"))
    places = [(view.key, view.place) for view in views_of(result) if view.place is not None]
    named = [found for found in places if found[0] == hit] or [found for found in places if found[1].document == hit]
    if len(named) != 1:
        rule = "must name one hit" if named else "must be the id of a hit of the result"
        raise InvalidRequest(("hit", f"{rule}, such as {places[0][0]}" if places else "the search found nothing"))
    ((key, place),) = named
    judged = HitJudgement(
        hit=key, document=place.document, place=_judged_part(place), relevance=relevance, comment=comment
    )
    return GiveFeedback(collection=asked.collection, job=job_id, asked=asked, judgements=(judged,))


def _judged_part(place: Place) -> str:
    """Return the part of a document that judgements of its kind name: a page, a message, or "" for the whole."""
    match place.kind:
        case "reports":
            return "" if place.span is None else str(place.span.first)
        case "messages":
            if place.message is None and place.span is not None:
                return f"{place.document}#{place.span.first - 1}"  # as a set names messages that have no id
            return place.message or ""
        case _:
            return ""
