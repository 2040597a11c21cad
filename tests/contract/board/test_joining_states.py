"""Callers that share work, in any order of what they and the workers do: on both boards.

A model says of each job what its caller may see: open, or one end that stays, and a result that names the job.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from querymill_shared.board import Board, Verdict
from querymill_shared.contracts.errors import IdempotencyConflict, UnknownJob
from querymill_shared.contracts.events import LAST
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.settings import Settings
from tests.fixtures.boards import empty_board

COLLECTIONS = ("filings", "minutes")
KEYS = ("turn-1", "turn-2")
#: Background learning is not joined, and what it learns changes what is found.
CHANGE = {name: LearnLexicon(collection=name, background=True) for name in COLLECTIONS}


@dataclass(eq=False)
class Work:
    """What workers do for everybody who wants it. ``version`` is what its collection held when it was last joined."""

    leader: str
    collection: str
    version: int
    wanted_by: set[str] = field(default_factory=set)
    has_begun: bool = False
    is_over: bool = False


@dataclass(eq=False)
class Asked:
    """One caller's job: its work, and how it ended for the caller."""

    job_id: str
    work: Work
    end: str = ""
    is_released: bool = False


class Callers(RuleBasedStateMachine):
    """The model, beside a board."""

    board: Board

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Asked] = []
        self.works: list[Work] = []
        self.versions = dict.fromkeys(COLLECTIONS, 0)
        self.keys: dict[tuple[str, str], Asked] = {}

    def picked(self, number: int) -> Asked:
        return self.asked[number % len(self.asked)]

    def joinable(self, collection: str) -> Work | None:
        of_collection = [work for work in self.works if work.collection == collection]
        if not of_collection or of_collection[-1].is_over:
            return None
        last = of_collection[-1]
        return last if last.version == self.versions[collection] or not last.has_begun else None

    @rule(collection=st.sampled_from(COLLECTIONS), key=st.sampled_from((None, *KEYS)))
    def submit(self, collection: str, key: str | None) -> None:
        request = ReportSearch(query="revenue?", collection=collection, deadline=600)
        prior = self.keys.get((collection, key or ""))
        job_id, starts_work = self.board.submit(request, SubmitOptions(idempotency_key=key))
        if key is not None and prior is not None and not prior.is_released:
            assert (job_id, starts_work) == (prior.job_id, False)
            return
        assert job_id not in {asked.job_id for asked in self.asked}
        work = self.joinable(collection)
        assert starts_work == (work is None)
        if work is None:
            work = Work(job_id, collection, self.versions[collection])
            self.works.append(work)
        work.version = self.versions[collection]
        work.wanted_by.add(job_id)
        self.asked.append(Asked(job_id, work))
        if key is not None:
            self.keys[collection, key] = self.asked[-1]

    @precondition(lambda self: self.keys)
    @rule(number=st.integers(0, 50))
    def submit_other_under_a_known_key(self, number: int) -> None:
        (collection, key), prior = list(self.keys.items())[number % len(self.keys)]
        if prior.is_released:
            return
        with pytest.raises(IdempotencyConflict):
            self.board.submit(LearnLexicon(collection=collection), SubmitOptions(idempotency_key=key))

    @rule(collection=st.sampled_from(COLLECTIONS))
    def change_what_is_stored(self, collection: str) -> None:
        job_id, starts_work = self.board.submit(CHANGE[collection])
        assert starts_work
        assert self.board.settle(job_id, Verdict("done", result="{}"))
        self.versions[collection] += 1

    @rule(collection=st.sampled_from(COLLECTIONS))
    def fail_to_change_what_is_stored(self, collection: str) -> None:
        job_id, _ = self.board.submit(CHANGE[collection])
        self.board.settle(job_id, Verdict("failed", reason="no"))

    @precondition(lambda self: self.asked)
    @rule(number=st.integers(0, 50))
    def cancel(self, number: int) -> None:
        asked = self.picked(number)
        was_open = not asked.end
        assert self.board.settle(asked.job_id, Verdict("cancelled")) == was_open
        if not was_open:
            return
        asked.end = "cancelled"
        asked.work.wanted_by.discard(asked.job_id)
        asked.work.is_over = not asked.work.wanted_by

    @precondition(lambda self: self.works)
    @rule(number=st.integers(0, 50))
    def begin(self, number: int) -> None:
        work = self.works[number % len(self.works)]
        claim = self.board.claim(work.leader, "original")
        assert (claim is not None) == (not work.is_over and not work.has_begun)
        work.has_begun = True

    @precondition(lambda self: self.works)
    @rule(number=st.integers(0, 50), state=st.sampled_from(["done", "failed", "dead"]))
    def work(self, number: int, state: Any) -> None:
        work = self.works[number % len(self.works)]
        result = json.dumps({"job_id": work.leader, "n": 1}, separators=(",", ":")) if state == "done" else ""
        ended = self.board.settle(work.leader, Verdict(state, reason="why", result=result))
        assert ended == (not work.is_over)
        if not ended:
            return
        work.is_over = True
        for asked in self.asked:
            if asked.work is work and not asked.end:
                asked.end = "failed" if state == "dead" and asked.job_id != work.leader else state

    @precondition(lambda self: self.asked)
    @rule(number=st.integers(0, 50))
    def release(self, number: int) -> None:
        asked = self.picked(number)
        may_go = bool(asked.end) and not asked.is_released
        assert self.board.release(asked.job_id) == may_go
        if may_go:
            asked.is_released = True
            asked.work.wanted_by.discard(asked.job_id)

    @invariant()
    def every_caller_sees_its_own_end(self) -> None:
        for asked in self.asked:
            if asked.is_released:
                assert self.board.result(asked.job_id) is None
                with pytest.raises(UnknownJob):
                    self.board.picture(asked.job_id).for_caller()
                continue
            record = self.board.picture(asked.job_id).for_caller().record
            assert record.job_id == asked.job_id
            assert record.state == (asked.end or ("running" if asked.work.has_begun else "queued"))
            ends = [event for _, event in self.board.events(asked.job_id) if isinstance(event, LAST)]
            assert len(ends) == bool(asked.end)
            result = self.board.result(asked.job_id)
            assert (None if result is None else json.loads(result)["job_id"]) == (
                asked.job_id if asked.end == "done" else None
            )

    @invariant()
    def work_goes_on_exactly_as_long_as_somebody_wants_it(self) -> None:
        for work in self.works:
            try:
                is_over = self.board.picture(work.leader).record.is_over
            except UnknownJob:
                is_over = True
            assert is_over == work.is_over
            assert work.is_over or work.wanted_by


def test_whatever_callers_and_workers_do_each_caller_sees_its_own_end(valkey_url: str) -> None:
    chosen = Settings(redis_url=valkey_url, querymill_result_ttl_s=600)
    with empty_board(chosen) as opened:

        class OnBoard(Callers):
            def __init__(self) -> None:
                super().__init__()
                # Every example has an empty board.
                opened._client.flushdb()
                self.board = opened

        run_state_machine_as_test(
            OnBoard,
            settings=settings(stateful_step_count=30, suppress_health_check=list(HealthCheck)),
        )
