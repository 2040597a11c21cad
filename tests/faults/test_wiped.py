"""The broker forgets its messages, and the board forgets everything."""

from collections.abc import Callable

import pytest

from querymill import UnknownCollection
from querymill_shared.contracts.vectors import Reembed
from tests.fixtures.faults import Ground
from tests.fixtures.tallies import Tally, until


@pytest.mark.nightly  # by day: system/test_poison.py, where a bell was lost
def test_a_broker_that_forgets_its_messages_loses_no_job(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("broker wiped")
    with ground.fleet(2):
        ground.mill.job(ground.ingest_report()).result(timeout=30)
        for _ in range(5):
            for _ in range(4):
                ground.ingest_report()
                ground.ingest_session()
            ground.search()
            ground.wipe_bells()
        wiped = ground.now()
        tally.recovery_s = max(0.0, ground.settle(tally, within_s=60) - wiped)
    assert (tally.lost, tally.doubled) == (0, 0), tally.losses
    assert tally.recovery_s <= 30


@pytest.mark.nightly  # by day: test_emptied_board.py
def test_new_work_goes_on_after_the_board_forgot_everything(ground: Ground, tally_of: Callable[..., Tally]) -> None:
    tally = tally_of("board wiped")

    def answers() -> bool:
        try:
            # Passages whose embedding was one of the jobs that are gone have no vector, which the result says.
            return ground.answers(lacking={"pending"})
        except UnknownCollection:
            return False

    with ground.fleet(2):
        ground.mill.job(ground.ingest_report()).result(timeout=30)
        for _ in range(10):
            ground.ingest_report()
        ground.client.flushdb()
        # The jobs of that moment are gone with the board, and nobody could know of them.
        ground.forget()
        tally.recovery_s = until(answers, within_s=60)
        for _ in range(5):
            ground.ingest_report()
            ground.search()
        ground.settle(tally, within_s=60)
        model = ground.settings.embedding_model
        request = Reembed(collection=ground.collection, retriever="reports", model=model)
        ground.mill.submit(request).result(timeout=60)
        assert ground.answers()
    assert (tally.submitted, tally.lost, tally.doubled) == (10, 0, 0)
    assert tally.recovery_s <= 30
