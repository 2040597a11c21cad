"""The history of the fleet over HTTP and in the console: every gateway shows the same, also one that just started."""

from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import Any

import httpx
import pytest

from querymill import Querymill, Settings
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.fleet_history import MINUTES
from querymill_shared.queues import Queue
from tests.fakes.worker import WorkerProcess
from tests.fixtures.boards import let_pass
from tests.fixtures.console import read_page
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.tallies import until


@pytest.fixture
def own_board() -> Iterator[str]:
    """A board whose clock a test may move on."""
    with temporary_stack(parts={StackPart.VALKEY}) as stack:
        yield stack.environment()["REDIS_URL"]


def history(gateway: str, minutes: int = MINUTES) -> list[dict[str, Any]]:
    found = httpx.get(f"{gateway}/v1/fleet/history", params={"minutes": minutes}, timeout=PATIENCE_S)
    assert found.status_code == 200, found.text
    listed: list[dict[str, Any]] = found.json()["minutes"]
    return listed


@pytest.mark.usefixtures("openai_server")
def test_all_gateways_show_the_same_history_and_a_restart_forgets_none_of_it(
    deployment: Deployment, own_board: str
) -> None:
    environment = deployment.environment | {"REDIS_URL": own_board}
    settings = Settings.model_validate({name.lower(): value for name, value in environment.items()})
    with (
        closing(ValkeyBoard.connect(settings)) as board, Querymill(settings=settings) as mill,
        WorkerProcess(environment, threads=4, name="a"), GatewayHere(settings) as first,
    ):  # fmt: skip
        with GatewayHere(settings) as second:
            for number in range(1, 4):
                until(partial(has_minutes, first.url, number), within_s=PATIENCE_S)
                text = TextToEmbed(id=str(number), text=f"ships {number}")
                mill.submit(EmbedTexts(collection="c", texts=(text,))).result(timeout=PATIENCE_S)
                let_pass(board, 60)
            until(lambda: ended_in(history(first.url)) == 3, within_s=PATIENCE_S)
            let_pass(board, 60)  # a worker tells what steps cost about a second after their end
            until(lambda: steps_run_in(history(first.url)) == 3, within_s=PATIENCE_S)
            until(lambda: history(first.url) == history(second.url), within_s=PATIENCE_S)
        seen = history(first.url)
        with GatewayHere(settings) as again:
            assert history(again.url)[: len(seen)] == seen
            page = httpx.get(f"{again.url}/console", timeout=PATIENCE_S)
            assert read_page(page.text, page.headers).all("polyline") != []
            # A minute may end between the two questions.
            until(lambda: history(again.url, minutes=1) == history(again.url)[-1:], within_s=PATIENCE_S)
            assert httpx.get(f"{again.url}/v1/fleet/history", params={"minutes": MINUTES + 1}).status_code == 422
    latest = seen[-1]
    assert {work["queue"] for work in latest["queues"]} == set(Queue)
    assert {work["queue"]: work["slots"] for work in latest["queues"]}["embed"] == 4
    assert len({int(minute["at"]) // 60 for minute in seen}) == len(seen)
    jobs = [minute["jobs"]["embed"] for minute in seen if minute["jobs"]]
    assert [job["ended"] for job in jobs] == [{"done": 1}] * 3
    assert all(job["seconds"]["95_percent_within"] for job in jobs)
    assert sum(minute["counts"].get("provider_tokens/bulk", 0) for minute in seen) > 0


def has_minutes(gateway: str, count: int) -> bool:
    return len(history(gateway)) >= count


def ended_in(minutes: list[dict[str, Any]]) -> int:
    return sum(sum(job["ended"].values()) for minute in minutes for job in minute["jobs"].values())


def steps_run_in(minutes: list[dict[str, Any]]) -> int:
    return sum(work["steps_run"] for minute in minutes for work in minute["queues"])
