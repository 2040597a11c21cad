"""What people say of the hits of a search, as the requests that keep it."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from querymill.presenting.hit import HitView, views_of
from querymill.presenting.places import Place
from querymill_shared.contracts.errors import InvalidRequest
from querymill_shared.contracts.feedback import GiveFeedback, HitJudgement
from querymill_shared.contracts.jobs import AnyResult, JobRequest
from querymill_shared.contracts.kinds import KindResult, KindSearch
from querymill_shared.contracts.search import Search, SearchResult


@dataclass(frozen=True, slots=True)
class SaidOfHit:
    """How relevant a hit is, from 0 to 3, and what else is to be said of it."""

    view: HitView
    relevance: int
    comment: str = ""


def feedback_on_hit(
    job_id: str, asked: JobRequest | None, result: AnyResult | None, *, hit: str, relevance: int, comment: str = ""
) -> GiveFeedback:
    """Return the request that keeps a judgement of one hit, which is named as `hit_named` has it.

    Raises:
        InvalidRequest: The job is no search that is done, or has no such hit; or the judgement breaks a rule.
    """
    view = hit_named(hits_to_judge(asked, result), hit)
    try:
        (kept,) = feedback_on(job_id, asked, [SaidOfHit(view, relevance, comment)])
    except ValidationError as error:
        raise InvalidRequest.of(error) from None
    return kept


def hits_to_judge(asked: JobRequest | None, result: AnyResult | None) -> list[HitView]:
    """Return the hits of a search, best first.

    Raises:
        InvalidRequest: The job is no search that is done.
    """
    if result is None:
        raise InvalidRequest(("job_id", "must be a search that is done, and whose result has not expired"))
    if not isinstance(result, KindResult | SearchResult) or not isinstance(asked, KindSearch | Search):
        raise InvalidRequest(("job_id", "must be a search, because its hits are what is judged"))
    return views_of(result)


def hit_named(views: Sequence[HitView], hit: str) -> HitView:
    """Return the hit of an id, by which screens name it (`HitView.key`), or that of its document.

    Raises:
        InvalidRequest: None has that id, or several have.
    """
    named = [view for view in views if view.key == hit] or [
        view for view in views if view.place is not None and view.place.document == hit
    ]
    if len(named) != 1:
        rule = "must name one hit" if named else "must be the id of a hit of the result"
        raise InvalidRequest(("hit", f"{rule}, such as {views[0].key}" if views else "the search found nothing"))
    return named[0]


def feedback_on(job_id: str, asked: JobRequest | None, said: Sequence[SaidOfHit]) -> list[GiveFeedback]:
    """Return the requests that keep what is said of the hits of a search: one for each search that it is said of.

    What is said of a hit of a search over everything is said of the search of its kind.
    """
    kept = dict[tuple[str, str], tuple[KindSearch, list[HitJudgement]]]()
    for each in said:
        place = each.view.place
        assert place is not None and isinstance(asked, KindSearch | Search)  # noqa: S101, PT018  # it is a hit of a search
        judged = HitJudgement(
            hit=each.view.key, document=place.document, place=judged_part(place), relevance=each.relevance,
            comment=each.comment,
        )  # fmt: skip
        kept.setdefault((place.kind, place.collection), (_search_of(asked, each.view), []))[1].append(judged)
    return [
        GiveFeedback(collection=search.collection, job=job_id, asked=search, judgements=tuple(judgements))
        for search, judgements in kept.values()
    ]


def _search_of(asked: KindSearch | Search, view: HitView) -> KindSearch:
    """Return the search of the kind of a hit."""
    if not isinstance(asked, Search):
        return asked
    assert view.joint is not None  # noqa: S101  # a hit of such a search says of which kind it is
    return asked.search_of(f"{view.joint.kind}/{view.joint.collection}")


def judged_part(place: Place) -> str:
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
