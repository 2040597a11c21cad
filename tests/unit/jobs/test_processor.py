"""The processor time of a step, wherever its work is done."""

import threading
import time
from collections import Counter

import pytest

from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_workers.inference.carrying import carry
from querymill_workers.jobs.processor import charged_to

SEARCH = ReportSearch(query="ships?", collection="filings", deadline=5)
EMBED = EmbedTexts.model_validate({"collection": "c", "texts": [{"id": "a", "text": "ships"}]})


def work(processor_s: float) -> None:
    until = time.thread_time() + processor_s
    while time.thread_time() < until:
        pass


def test_work_counts_and_waiting_does_not() -> None:
    spent: Counter[str] = Counter()
    with charged_to(SEARCH, lambda name, ms: spent.update({name: ms})):
        work(0.05)
        time.sleep(0.5)
    assert list(spent) == ["processor_ms/reports/interactive"]
    assert 50 <= spent["processor_ms/reports/interactive"] < 250


def test_a_call_that_is_carried_counts_for_the_step_that_made_it() -> None:
    spent: Counter[str] = Counter()
    with charged_to(EMBED, lambda name, ms: spent.update({name: ms})):
        carried = carry(lambda: carry(lambda: work(0.05), name="inner").result(), name="outer")
        carried.result()
    assert 50 <= spent["processor_ms/embed/bulk"] < 250


def test_a_call_that_outlives_its_step_counts_for_it_and_what_follows_does_not() -> None:
    spent: Counter[str] = Counter()
    goes_on = threading.Event()
    with charged_to(EMBED, lambda name, ms: spent.update({name: ms})):

        def late() -> None:
            goes_on.wait()
            work(0.05)

        carried = carry(late, name="late")
    before = spent["processor_ms/embed/bulk"]
    goes_on.set()
    carried.result()
    carry(lambda: work(0.05), name="of nobody").result()
    assert 50 <= spent["processor_ms/embed/bulk"] - before < 100


def test_the_work_of_a_step_that_raises_counts() -> None:
    spent: Counter[str] = Counter()

    def fail() -> None:
        with charged_to(SEARCH, lambda name, ms: spent.update({name: ms})):
            work(0.02)
            raise LookupError

    with pytest.raises(LookupError):
        fail()
    assert spent["processor_ms/reports/interactive"] >= 20
