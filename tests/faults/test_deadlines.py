"""Callers with short deadlines beside patient ones, on a slow model."""

import time
from collections.abc import Callable
from contextlib import suppress

import pytest

from querymill import Overloaded
from tests.fakes.openai_server import OpenAIServer, chat_answer
from tests.fixtures.faults import Ground
from tests.fixtures.tallies import Tally, until

PATIENT = 38


@pytest.mark.nightly
def test_short_deadlines_take_nothing_from_patient_callers(
    ground: Ground, tally_of: Callable[..., Tally], openai_server: OpenAIServer
) -> None:
    tally = tally_of("deadlines of 1 s beside patient ones")
    openai_server.script.chat = lambda request: chat_answer("| revenue | 10 |", after_s=2.5)
    with ground.fleet(2, threads=32):
        ground.mill.job(ground.ingest_report()).result(timeout=30)
        until(ground.answers, within_s=30)  # the vectors follow the ingestion
        patient = []
        began = ground.now()
        for _ in range(PATIENT):
            patient.append(ground.search(deadline=20, hyde=True))
            for _ in range(2):
                with suppress(Overloaded):
                    ground.search(deadline=1, hyde=True)
            time.sleep(0.1)
        tally.recovery_s = ground.settle(tally, within_s=60) - began
        complete = sum(ground.mill.job(job_id).result(timeout=5).complete for job_id in patient)
    assert (tally.lost, tally.doubled) == (0, 0), tally.losses
    assert complete / PATIENT >= 0.95
