"""Bells built without Celery are bells that every worker reads."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared import bells
from querymill_shared.queues import Queue, task_of
from querymill_workers.jobs.bell_codec import Rung, heard, is_name


@pytest.mark.parametrize("queue", list(Queue))
def test_a_worker_hears_a_built_bell(queue: Queue) -> None:
    rung = heard(bells.message(queue, "0f", "original"), task_of(queue))
    assert isinstance(rung, Rung)
    assert (rung.job_id, rung.step) == ("0f", "original")


@given(st.text(min_size=1).filter(is_name), st.text(min_size=1).filter(is_name))
def test_whatever_the_names_are_they_arrive_as_they_are(job_id: str, step: str) -> None:
    rung = heard(bells.message(Queue.SEARCH, job_id, step), task_of(Queue.SEARCH))
    assert isinstance(rung, Rung)
    assert (rung.job_id, rung.step) == (job_id, step)


def test_every_bell_has_an_id_of_its_own_which_is_its_delivery_tag_too() -> None:
    first, second = (json.loads(bells.message(Queue.SEARCH, "0f", "original")) for _ in range(2))
    assert first["headers"]["id"] == first["properties"]["delivery_tag"] != second["headers"]["id"]
