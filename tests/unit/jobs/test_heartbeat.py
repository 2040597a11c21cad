import threading
from dataclasses import replace

from querymill_shared.board import Claim, MemoryBoard
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.settings import Settings
from querymill_workers.jobs.heartbeat import Heartbeat
from tests.fakes.jobs import CommonPorts, claimed

REQUEST = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})
#: Long enough for any machine; every wait ends as soon as what it waits for has happened.
PATIENCE_S = 30


class BeatenBoard(MemoryBoard):
    """Records whose lease is extended; fails at the first beats if it is told to."""

    def __init__(self, *, failures: int = 0) -> None:
        super().__init__(Settings())
        self.beats: list[Claim] = []
        self._failures = failures
        self._beaten = threading.Condition()

    def extend(self, held: Claim) -> bool:
        with self._beaten:
            self.beats.append(held)
            self._beaten.notify_all()
            if len(self.beats) <= self._failures:
                raise ConnectionError("the board is away")
        return super().extend(held)

    def wait_for_beats(self, claim: Claim, count: int) -> None:
        with self._beaten:
            assert self._beaten.wait_for(lambda: self.beats.count(claim) >= count, timeout=PATIENCE_S)


def beating(board: MemoryBoard) -> tuple[Heartbeat, Claim]:
    return Heartbeat(board, lease_s=0.03), claimed(REQUEST, CommonPorts(board=board))


def test_a_kept_lease_is_renewed_again_and_again() -> None:
    board = BeatenBoard()
    heartbeat, claim = beating(board)
    with heartbeat.keep(claim):
        board.wait_for_beats(claim, 3)


def test_after_the_block_the_lease_is_left_to_end() -> None:
    board = BeatenBoard()
    heartbeat, claim = beating(board)
    other = replace(claim, job_id="another job")
    with heartbeat.keep(other):
        with heartbeat.keep(claim):
            board.wait_for_beats(claim, 1)
        board.wait_for_beats(other, board.beats.count(other) + 2)  # the round under way is over
        known = board.beats.count(claim)
        board.wait_for_beats(other, board.beats.count(other) + 3)
    assert board.beats.count(claim) == known


def test_a_board_that_is_away_is_beaten_again() -> None:
    board = BeatenBoard(failures=2)
    heartbeat, claim = beating(board)
    with heartbeat.keep(claim):
        board.wait_for_beats(claim, 4)


def test_one_thread_beats_for_every_claim_of_the_process() -> None:
    board = BeatenBoard()
    heartbeat, claim = beating(board)
    second = replace(claim, attempt=2)
    with heartbeat.keep(claim), heartbeat.keep(second):
        board.wait_for_beats(claim, 1)
        board.wait_for_beats(second, 1)
        names = [thread.name for thread in threading.enumerate() if thread is getattr(heartbeat, "_beating")]  # noqa: B009
    assert names == ["heartbeat"]
