"""What people say of the hits of a search, as the request that keeps it."""

from querymill.presenting.hit import HitView, views_of
from querymill.presenting.places import Place
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.feedback import GiveFeedback, HitJudgement
from querymill_shared.contracts.jobs import AnyResult, JobRequest
from querymill_shared.contracts.kinds import KindResult, KindSearch
from querymill_shared.contracts.search import Search, SearchResult


def feedback_on(
    job_id: str, asked: JobRequest | None, result: AnyResult, *, hit: str, relevance: int, comment: str = ""
) -> GiveFeedback:
    """Return the request that keeps a judgement of a hit.

    ``hit`` is the id by which screens name it (`HitView.key`), or that of its document if no other hit is a part of it.
    What is said of a hit of a search over everything is said of the search of its kind.

    Raises:
        InvalidRequest: The job is no search, or its result has no such hit.
    """
    if not isinstance(result, KindResult | SearchResult) or not isinstance(asked, KindSearch | Search):
        raise InvalidRequest(("job_id", "must be a search, because its hits are what is judged"))
    places = [(view, view.place) for view in views_of(result) if view.place is not None]
    named = [found for found in places if found[0].key == hit] or [
        found for found in places if found[1].document == hit
    ]
    if len(named) != 1:
        rule = "must name one hit" if named else "must be the id of a hit of the result"
        raise InvalidRequest(("hit", f"{rule}, such as {places[0][0].key}" if places else "the search found nothing"))
    ((view, place),) = named
    judged = HitJudgement(
        hit=view.key, document=place.document, place=_judged_part(place), relevance=relevance, comment=comment
    )
    search = _search_of(asked, view)
    return GiveFeedback(collection=search.collection, job=job_id, asked=search, judgements=(judged,))


def _search_of(asked: KindSearch | Search, view: HitView) -> KindSearch:
    """Return the search of the kind of a hit."""
    if not isinstance(asked, Search):
        return asked
    assert view.joint is not None  # noqa: S101  # a hit of such a search says of which kind it is
    return asked.search_of(f"{view.joint.kind}/{view.joint.collection}")


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
