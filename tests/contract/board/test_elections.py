"""Who sweeps which shard: of every shard only one process, whichever come, stop or die."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, Final

import pytest
import redis

from querymill_shared.board import ValkeyBoard, keys
from querymill_shared.board.keys import SHARDS
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.dispatch.election import TERM_S, Election, share_of
from tests.fixtures.boards import let_expire, let_pass, with_settings

SEARCH: Final = ReportSearch(query="q", collection="c")
#: So many turns of each process leave no shard without one.
ROUNDS: Final = 3


class Process:
    """A process that stands for election, and what it takes for its own."""

    def __init__(self, board: ValkeyBoard, name: str) -> None:
        self.name = name
        self._election = Election(board, name)
        self.swept = ""

    def stand(self) -> None:
        self.swept = ""
        self.swept = self._election.shards()


def stand_in_turn(processes: Sequence[Process], rounds: int = ROUNDS) -> None:
    for _ in range(rounds):
        for process in processes:
            process.stand()
            assert twice(processes) == []


def twice(processes: Sequence[Process]) -> list[str]:
    counted = Counter(shard for process in processes for shard in process.swept)
    return [shard for shard, number in counted.items() if number > 1]


def swept(processes: Sequence[Process]) -> str:
    return "".join(sorted(shard for process in processes for shard in process.swept))


def let_a_term_pass(board: ValkeyBoard) -> None:
    let_pass(board, TERM_S)
    let_expire(board, TERM_S)


def test_a_process_alone_sweeps_every_shard(board: ValkeyBoard) -> None:
    alone = Process(board, "a")
    alone.stand()
    assert swept([alone]) == SHARDS


@pytest.mark.parametrize("number", [2, 3, 5, 16, 20])
def test_processes_share_the_shards(board: ValkeyBoard, number: int) -> None:
    processes = [Process(board, str(place)) for place in range(number)]
    stand_in_turn(processes)
    assert swept(processes) == SHARDS
    assert max(len(process.swept) for process in processes) == share_of(number)


def test_a_process_that_comes_later_gets_its_share(board: ValkeyBoard) -> None:
    first, second = Process(board, "a"), Process(board, "b")
    first.stand()
    stand_in_turn([second, first])
    assert (len(first.swept), len(second.swept)) == (8, 8)


@pytest.mark.parametrize("planned", [True, False])
def test_the_shards_of_a_process_that_stopped_or_was_buried_are_swept_at_once(
    board: ValkeyBoard, planned: bool
) -> None:
    stays, stops = Process(board, "a"), Process(board, "b")
    stand_in_turn([stays, stops])
    board.release_life("b", planned=planned)
    stays.stand()
    assert swept([stays]) == SHARDS


def test_the_shards_of_a_process_that_died_are_swept_after_its_term(board: ValkeyBoard) -> None:
    stays, dies = Process(board, "a"), Process(board, "b")
    stand_in_turn([stays, dies])
    stays.stand()
    assert len(stays.swept) == 8
    let_a_term_pass(board)
    stays.stand()
    assert swept([stays]) == SHARDS


@pytest.mark.parametrize("seed", range(5))
def test_no_shard_is_ever_swept_by_two_whoever_comes_stops_or_dies(board: ValkeyBoard, seed: int) -> None:
    chance = Random(seed)
    living: list[Process] = []
    for number in range(40):
        what = chance.choice(["come", "stand", "stand", "stand", "stop", "die"])
        if what == "come" or not living:
            living.append(Process(board, f"p{number}"))
        process = chance.choice(living)
        if what in ("stop", "die"):
            living.remove(process)
            if what == "die":
                let_a_term_pass(board)
                for other in living:  # nobody sweeps for longer than its term
                    other.swept = ""
                stand_in_turn(living, rounds=1)
            else:
                board.release_life(process.name, planned=True)
        else:
            process.stand()
        assert twice(living) == []
    stand_in_turn(living or [Process(board, "last")])
    if living:
        assert swept(living) == SHARDS
        assert max(len(process.swept) for process in living) <= share_of(len(living))


@with_settings(querymill_ring_grace_s=0.001)
def test_a_process_that_is_not_elected_any_more_gets_nothing_that_is_due(board: ValkeyBoard) -> None:
    """It may have stood still since it was elected."""
    stood_still, other = Process(board, "a"), Process(board, "b")
    stood_still.stand()
    job_id, _ = board.submit(SEARCH)
    let_pass(board, 1)
    let_a_term_pass(board)
    other.stand()
    assert board.due(shards=stood_still.swept, sweeper="a") == []
    assert [due.job_id for due in board.due(shards=other.swept, sweeper="b")] == [job_id]


@with_settings(querymill_ring_grace_s=1)
def test_what_is_due_comes_to_one_of_the_processes_and_once(board: ValkeyBoard) -> None:
    processes = [Process(board, name) for name in "abc"]
    stand_in_turn(processes)
    submitted = [board.submit(SEARCH.model_copy(update={"query": f"q{number}"}))[0] for number in range(64)]
    let_pass(board, 1)
    stand_in_turn(processes, rounds=1)
    due = [each.job_id for process in processes for each in board.due(shards=process.swept, sweeper=process.name)]
    assert sorted(due) == sorted(submitted)
    assert min(board.due_in(process.swept) for process in processes) > 0


@pytest.mark.parametrize(
    "written", ["no hash", {"x": "garbage", "y": "1 zz", "z": ""}, {"x": f"{10**16} {SHARDS}", "y": f"{10**30} 0"}]
)
def test_what_another_program_wrote_about_candidates_is_passed_over(
    board: ValkeyBoard, server: redis.Redis, written: Any
) -> None:
    if isinstance(written, str):
        server.set(keys.SWEEPERS, written)
    else:
        server.hset(keys.SWEEPERS, mapping=written)
    alone = Process(board, "a")
    alone.stand()
    assert swept([alone]) == SHARDS
    assert list(server.hgetall(keys.SWEEPERS)) == ["a"]
