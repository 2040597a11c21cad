"""Recorded searches are asked again, a few at a time: as they were, and with other fields."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pydantic

from querymill.broken_rules import rule_broken
from querymill.cli.bulk.batch_search import submit_when_free
from querymill.cli.bulk.in_flight import each_in_flight
from querymill.client.mill import Querymill
from querymill_evaluation.cli.feedback import list_judgements
from querymill_evaluation.feedback_sets import queries_of, query_id_of
from querymill_evaluation.recordings import RecordedSearch, SearchOutcome, outcome_of
from querymill_evaluation.replays import NoSuchField, ReplayedSearch, with_options
from querymill_shared.contracts.errors import InvalidRequest, JobEnded, UnknownCollection, detail_of
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.search import AnySearch, Search

#: How long a result is waited for beyond its deadline, in seconds.
_SETTLED_WITHIN_S: Final = 30.0


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A line or a search that is not compared, and why. It ``is_fault`` unless options are not for its kind."""

    name: str
    reason: str
    is_fault: bool = True


@dataclass(frozen=True, slots=True)
class SearchToAsk:
    """A search as it is asked ``again``, and as it was.

    ``before`` is how it went when it was recorded; if that is None, it is asked ``unchanged`` too.
    """

    id: str
    again: AnySearch
    unchanged: AnySearch
    before: SearchOutcome | None
    grades: Mapping[str, int]


class Judgements:
    """What people said of the hits of searches, read once for each collection."""

    def __init__(self, mill: Querymill) -> None:
        self._mill = mill
        self._known: dict[tuple[Retriever, str], dict[str, Mapping[str, int]]] = {}

    def of(self, request: AnySearch) -> Mapping[str, int]:
        """Return the grades of a question by part. Of a search over everything there are none."""
        if isinstance(request, Search):
            return {}
        place = request.kind, request.collection
        if place not in self._known:
            queries, _ = queries_of(request.kind, list_judgements(self._mill, request.collection, request.kind))
            self._known[place] = {query.query_id: query.grades for query in queries}
        asked = request.model_dump(mode="json", exclude_defaults=True)  # as a judgement keeps it
        return self._known[place].get(query_id_of(request.kind, asked), {})


def to_ask(search: RecordedSearch, options: Mapping[str, Any], judgements: Judgements) -> SearchToAsk | LeftOut:
    """Return how a search is asked again, or why it cannot be."""
    if not options and search.outcome is None:
        return LeftOut(search.id, "outcome: is not recorded, so it must be asked with other fields (--option)")
    try:
        again = with_options(search.request, options)
    except NoSuchField as error:
        return LeftOut(search.id, str(error), is_fault=False)
    except pydantic.ValidationError as error:
        return LeftOut(search.id, rule_broken(error))
    before = None if options else search.outcome
    return SearchToAsk(search.id, again, search.request, before, judgements.of(search.request))


def ask_again(
    mill: Querymill, searches: Sequence[SearchToAsk], *, in_flight: int
) -> Iterator[ReplayedSearch | LeftOut]:
    """Ask searches again, in the order in which they end."""

    def ask_one(place: tuple[int, SearchToAsk]) -> ReplayedSearch | LeftOut:
        number, search = place
        try:
            # Who asks second finds the question embedded: either does, every other time.
            if search.before is None and number % 2:
                after = _ask(mill, search.again)
                before = _ask(mill, search.unchanged)
            else:
                before = search.before or _ask(mill, search.unchanged)
                after = _ask(mill, search.again)
        except (InvalidRequest, UnknownCollection, JobEnded, TimeoutError) as error:
            return LeftOut(search.id, detail_of(error))
        return ReplayedSearch(search.id, before, after, search.grades)

    return each_in_flight(ask_one, enumerate(searches), in_flight=in_flight)


def _ask(mill: Querymill, request: AnySearch) -> SearchOutcome:
    job = submit_when_free(mill, request)
    result = job.result(timeout=request.deadline + _SETTLED_WITHIN_S)
    outcome = outcome_of(job.picture(), result)
    job.release()  # nobody reads it again, and a day of results would fill the board
    return outcome
