"""What people say of the hits of a search, as the request that keeps it."""

from querymill.presenting.hit import views_of
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
    places = [(view.key, view.place.document) for view in views_of(result) if view.place is not None]
    named = [place for place in places if place[0] == hit] or [place for place in places if place[1] == hit]
    if len(named) != 1:
        rule = "must name one hit" if named else "must be the id of a hit of the result"
        raise InvalidRequest(("hit", f"{rule}, such as {places[0][0]}" if places else "the search found nothing"))
    ((key, document),) = named
    judged = HitJudgement(hit=key, document=document, relevance=relevance, comment=comment)
    return GiveFeedback(collection=asked.collection, job=job_id, asked=asked, judgements=(judged,))
