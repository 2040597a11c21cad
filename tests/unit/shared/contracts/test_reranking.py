"""How many candidates a search has judged, by which steps, and on which queue."""

from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.kinds import SEARCHES, limit_of
from querymill_shared.contracts.rerank import BATCH_SIZE, batch_names, batch_of, judge_s, judges_batch, most_judged
from querymill_shared.contracts.search import Search, with_branches
from querymill_shared.queues import Queue


@pytest.mark.parametrize(
    ("deadline", "seconds", "judged"), [(30.0, 10.0, 100), (15.0, 5.0, 50), (2.0, 2 / 3, 30), (600.0, 200.0, 100)]
)
def test_ten_candidates_are_judged_for_each_second_of_a_third_of_the_deadline(
    deadline: float, seconds: float, judged: int
) -> None:
    assert judge_s(deadline) == pytest.approx(seconds)
    assert most_judged(deadline) == judged


@pytest.mark.parametrize(
    ("count", "names"), [(0, ()), (1, ("rerank-01",)), (21, ("rerank-01", "rerank-02", "rerank-03"))]
)
def test_a_step_judges_ten(count: int, names: tuple[str, ...]) -> None:
    assert batch_names(count) == names
    read = [place for name in names for place in range(count)[batch_of(name)]]
    assert read == list(range(count))
    assert all(judges_batch(name) and len(range(count)[batch_of(name)]) <= BATCH_SIZE for name in names)


def asked(kind: str, **fields: Any) -> Any:
    return SEARCHES[kind].model_validate({"query": "q", "collection": "c"} | fields)


@pytest.mark.parametrize("kind", SEARCHES)
def test_batches_wait_on_the_queue_of_the_judge(kind: str) -> None:
    request = asked(kind, rerank=True, hyde=True)
    assert (request.queue_of("rerank-01"), request.queue_of("hyde")) == (Queue.RERANK, Queue.EXPAND)
    assert request.queue_of(request.steps[0]) == Queue.SEARCH
    everything = with_branches(Search(query="q", rerank="auto"), {"c": [kind]})
    assert everything.queue_of("rerank-01") == Queue.RERANK


@pytest.mark.parametrize("kind", SEARCHES)
@pytest.mark.parametrize(("given", "read"), [("auto", "auto"), (True, True), ("true", True), (False, False)])
def test_when_to_rerank(kind: str, given: object, read: object) -> None:
    assert asked(kind).rerank is False
    assert asked(kind, rerank=given).rerank == read
    with pytest.raises(ValidationError, match="must be true, false or 'auto'"):
        asked(kind, rerank="sometimes")


@pytest.mark.parametrize("kind", SEARCHES)
def test_each_branch_of_a_search_over_everything_returns_as_many_as_that_may(kind: str) -> None:
    """A judge reads a hundred of them."""
    everything = with_branches(Search(query="q", top_k=100), {"c": [kind]})
    search = everything.search_of(f"{kind}/c")
    assert getattr(search, limit_of(type(search))) == 100
