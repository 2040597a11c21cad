"""The board of other releases: a job that one of them left at any moment of its life is brought to its end."""

import json
from collections.abc import Iterator

import pytest
import redis

from querymill_shared.board import Outcome, ValkeyBoard, Verdict
from querymill_shared.contracts.events import Queued
from querymill_shared.contracts.jobs import decode_request
from querymill_shared.settings import Settings
from tests.fixtures import wire, wire_board
from tests.fixtures.boards import claimed, empty_board
from tests.fixtures.wire_board import JOB_ID, SEARCH

LIVES = [(release, moment) for release in wire.RELEASES for moment in wire_board.moments(wire.read(release, "board"))]


@pytest.fixture
def board(valkey_url: str) -> Iterator[ValkeyBoard]:
    with empty_board(Settings(redis_url=valkey_url)) as opened:
        yield opened


def test_this_release_writes_the_board_as_its_golden_file_says(valkey_url: str) -> None:
    assert json.loads(wire.lines(wire_board.life(valkey_url))) == wire.read(wire.NOW, "board")


@pytest.mark.one_server
def test_this_release_rings_as_its_golden_file_says(valkey_url: str) -> None:
    assert json.loads(wire.lines(wire_board.bells(valkey_url))) == wire.read(wire.NOW, "bells")


@pytest.mark.parametrize(("release", "moment"), LIVES)
def test_a_job_at_any_moment_is_read_and_ended(
    board: ValkeyBoard, server: redis.Redis, release: str, moment: str
) -> None:
    wire_board.load(server, wire_board.at(wire.read(release, "board"), moment), JOB_ID)
    picture = board.picture(JOB_ID)
    assert next(event for _, event in board.events(JOB_ID)) == Queued(stages=SEARCH.steps)
    if picture.record.is_over:
        assert board.result(JOB_ID) is not None
        return
    assert picture.request == decode_request(SEARCH.model_dump_json())
    assert {due.step for due in board.due()} <= {None, *(step.name for step in picture.steps)}
    for step in picture.steps:
        if not step.is_closed:  # a lease of those days has run out
            claim = claimed(board, JOB_ID, step.name)
            assert claim.attempt == step.attempt + 1
            assert board.finish(claim, Outcome()) is not None
    assert board.picture(JOB_ID).record.open_steps == 0
    assert board.settle(JOB_ID, Verdict("done", result="{}"))
    assert server.zrange(f"qm:{{{JOB_ID[0]}}}:due", 0, -1) == []
