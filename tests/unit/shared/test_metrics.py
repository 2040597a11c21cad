"""/metrics as a page: which series there are, whatever the fleet does and whatever other programs write."""

from collections import Counter

import pytest
import redis

from querymill_shared import counters
from querymill_shared.board import ValkeyBoard, Verdict, keys
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.metrics import KINDS, MAX_MODELS, VALUES, FleetFigures
from tests.fixtures.boards import new_board

Series = tuple[str, tuple[tuple[str, str], ...]]


def scraped(board: ValkeyBoard) -> dict[Series, float]:
    samples = [sample for family in FleetFigures(board._client).collect() for sample in family.samples]
    series = [(sample.name, tuple(sorted(sample.labels.items()))) for sample in samples]
    assert [name for name, count in Counter(series).items() if count > 1] == []
    return {name: sample.value for name, sample in zip(series, samples, strict=True)}


def without_latency(series: dict[Series, float]) -> set[Series]:
    return {name for name in series if not name[0].startswith("querymill_job_seconds")}


def test_every_series_is_there_before_anything_is_counted() -> None:
    series = scraped(new_board())
    assert series["querymill_jobs_ended_total", (("kind", "reports"), ("state", "dead"))] == 0
    assert series["querymill_jobs_incomplete_total", (("kind", "messages"),)] == 0
    assert series["querymill_provider_tokens_total", (("lane", "bulk"),)] == 0
    assert series["querymill_processor_ms_total", (("kind", "embed"), ("lane", "bulk"))] == 0
    assert series["querymill_steps_waiting", (("queue", "ranks"),)] == 0
    assert series["querymill_board_up", ()] == 1


def test_a_board_that_is_away_is_the_only_figure() -> None:
    (family,) = FleetFigures(redis.Redis(port=1)).collect()
    assert [(sample.name, sample.value) for sample in family.samples] == [("querymill_board_up", 0)]


@pytest.mark.parametrize("key", [counters.KEY, keys.ABOUT_WORKERS, counters.ACCOUNTS])
def test_a_board_that_answers_and_cannot_be_read_is_not_away(key: str, caplog: pytest.LogCaptureFixture) -> None:
    board = new_board()
    board._client.delete(key)
    board._client.lpush(key, "of another program")
    board.beat("w@host#1", {"name": "w", "queues": ["search"], "slots": 1}) if key != keys.ABOUT_WORKERS else None
    with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
        list(FleetFigures(board._client).collect())
    assert "the figures of the fleet cannot be read: ResponseError" in caplog.text


def test_collections_users_and_jobs_make_no_series() -> None:
    board = new_board()
    before = without_latency(scraped(board))
    for number in range(60):
        job_id, _ = board.submit(ReportSearch(query=f"{number}?", collection=f"c{number}", deadline=5))
        board.beat(f"w{number}@host#1", {"name": f"w{number}", "queues": ["search", f"q{number}"], "slots": 1})
        board.settle(job_id, Verdict("failed", reason="r", counts_as="refused" if number % 2 else ""))
    after = scraped(board)
    assert without_latency(after) == before
    latency = {name for name in after if name[0].startswith("querymill_job_seconds")}
    assert {dict(labels)["kind"] for _, labels in latency} == {"reports"}


@pytest.mark.parametrize(
    "field",
    ["budget_granted/{}", "provider_calls/{}", "provider_tokens/{}", "processor_ms/{}", "processor_ms/reports/{}",
     "steps_run/{}", "texts_refused/{}", "elements_dropped/{}", "batch_size/{}", "{}"],
)  # fmt: skip
def test_what_the_meters_hold_of_other_programs_makes_one_series(field: str) -> None:
    board = new_board()
    before = len(scraped(board))
    board._client.hset(counters.KEY, mapping={field.format(f"x{number}"): 1 for number in range(100)})
    assert len(scraped(board)) <= before + 1


@pytest.mark.parametrize("field", ["submitted/{}", "ended/reports/{}", "ended/{}/done", "incomplete/{}", "took/{}/inf"])
def test_kinds_and_states_of_a_newer_release_are_counted_together(field: str) -> None:
    board = new_board()
    before = len(scraped(board))
    board._client.hset(f"{keys.prefix('0')}counts", mapping={field.format(f"x{number}"): 1 for number in range(100)})
    after = scraped(board)
    assert len(after) <= before + 1
    others = [value for (_, labels), value in after.items() if any(label == "other" for _, label in labels)]
    assert others == ([] if field.startswith("took") else [100])


def test_a_model_is_one_series_by_its_worst_account_and_there_is_a_bound() -> None:
    board = new_board()
    for number in range(100):
        key = f"qm:account:{number}"
        board._client.hset(counters.ACCOUNTS, key, f"m{number % 50}")
        board._client.hset(key, mapping={"open_until": 10**13 if number == 99 else 0})
    series = scraped(board)
    assert series["querymill_breaker", (("model", "m49"),)] == 1
    assert len([name for name in series if name[0] == "querymill_breaker"]) == MAX_MODELS


def test_every_kind_of_job_has_its_series() -> None:
    assert len(set(KINDS)) == len(KINDS) > 20
    assert {label for labels in VALUES.values() for label in labels} & {"", "other"} == set()
