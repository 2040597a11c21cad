"""One question over everything: branches of one job, each with its own end."""

from typing import Any

import pytest

from querymill_shared.board import Outcome, Picture
from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.events import Hits, StageFinished
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.search import Search, SearchResult, with_branches
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.jobs.faults import Unavailable
from tests.fixtures.chats import session
from tests.fixtures.code_base import BASE, PROFILES, put
from tests.fixtures.world import World, example, report

HELD = {
    "filings": ("reports",),
    "talks": ("messages", "conversations"),
    "code": ("modules", "files"),
}
EVERYTHING = [f"{kind}/{name}" for name, kinds in HELD.items() for kind in kinds]
AWAY = Unavailable("PostgreSQL: AdminShutdown", code="store_down")


@pytest.fixture
def full(world: World) -> World:
    """A world that holds something about unacked messages in every kind."""
    world.ingest(report("a1", "messages that were unacked rose to forty", "the fleet has nine ships"))
    talk = session("s", "who restores the unacked messages", "nobody does", "let us buy nine ships")
    world.run(IngestMessages(collection="talks", documents=(talk,)))
    world.run(IngestConversations(collection="talks", documents=(talk,)))
    world.ingest_code(example(0, "vtkConeSource", "vtkActor", description="restore unacked messages in red"))
    put(world, BASE)
    world.with_ports(file_profiles=PROFILES)
    return world


def asked(**fields: Any) -> Search:
    return with_branches(Search.model_validate({"query": "restore unacked messages"} | fields), HELD)


def answered(world: World, request: Search) -> SearchResult:
    result = world.result(world.run(request))
    assert isinstance(result, SearchResult)
    return result


def seen(hit: Any) -> dict[str, Any]:
    """Return a hit without what the moment of the search changes."""
    shown: dict[str, Any] = hit.model_dump(exclude={"score", "explanation"})
    return shown


class Broken:
    """A store of which one call fails whenever it is made."""

    def __init__(self, store: object, call: str) -> None:
        self._store, self._call = store, call

    def __getattr__(self, name: str) -> Any:
        def fail(*_: object, **__: object) -> None:
            raise AWAY

        return fail if name == self._call else getattr(self._store, name)


def test_every_kind_answers_in_one_ranking(full: World) -> None:
    result = answered(full, asked())
    assert {(hit.kind, hit.collection) for hit in result.results} == {
        ("reports", "filings"), ("messages", "talks"), ("conversations", "talks"), ("modules", "code"),
        ("files", "code"),
    }  # fmt: skip
    scores = [hit.score for hit in result.results]
    assert scores == sorted(scores, reverse=True)
    assert result.complete
    assert [f"{branch.kind}/{branch.collection}" for branch in result.branches] == EVERYTHING
    assert all(branch.state == "done" and branch.ms is not None for branch in result.branches)


def test_the_hits_of_a_branch_are_those_of_its_own_search_in_its_order(full: World) -> None:
    request = asked()
    result = answered(full, request)
    for branch in request.branches:
        alone: Any = full.result(full.run(request.search_of(branch)))
        of_branch = [hit for hit in result.results if f"{hit.kind}/{hit.collection}" == branch]
        assert [seen(hit.hit) for hit in of_branch] == [seen(hit) for hit in alone.results][: len(of_branch)]
        assert [hit.rank for hit in of_branch] == list(range(1, len(of_branch) + 1))


def test_grouped_hits_stand_kind_by_kind(full: World) -> None:
    result = answered(full, asked(group=True, top_k=1))
    kinds = [hit.kind for hit in result.results]
    assert sorted(kinds) == ["conversations", "files", "messages", "modules", "reports"]
    assert [hit.rank for hit in result.results] == [1] * 5


def test_a_store_that_is_away_costs_its_branch_and_not_the_others(full: World) -> None:
    full.with_ports(modules=Broken(full.modules, "vocabulary"))
    request = asked(deadline=10, branch_deadline=2)
    job_id = full.run(request)
    while not full.board.has_ended(job_id):
        full.let_pass(0.1)
        full.answer(*sweep(full.ports))
    record = full.board.picture(job_id).record
    assert record.ended is not None
    assert record.ended - record.created < 3, "the branch has its own deadline"
    result: Any = full.result(job_id)
    assert [(part.stage, part.code) for part in result.degraded] == [("modules/code", "store_down")]
    assert not result.complete
    assert {hit.kind for hit in result.results} == {"reports", "messages", "conversations", "files"}
    failed = [branch for branch in result.branches if branch.state == "failed"]
    assert [branch.kind for branch in failed] == ["modules"]
    assert str(AWAY) in str(failed[0].reason)


def test_a_branch_that_is_late_is_left_out_at_the_deadline(full: World) -> None:
    request = asked(deadline=4)
    job_id = full.submit(request)
    for step in request.steps:
        if not step.startswith("reports/"):
            full.ring(job_id, request, step)
    held = full.board.claim(job_id, "reports/filings/original")  # by a worker that hangs
    assert held is not None
    while not full.board.has_ended(job_id):
        full.let_pass(0.1)
        full.answer(*sweep(full.ports))
    result: Any = full.result(job_id)
    assert [(part.stage, part.code) for part in result.degraded] == [("reports/filings", "deadline")]
    assert {hit.kind for hit in result.results} == {"messages", "conversations", "modules", "files"}


def test_a_search_whose_branches_all_fail_fails_and_names_each_reason(full: World) -> None:
    full.with_ports(modules=Broken(full.modules, "vocabulary"))
    request = asked(kinds=("modules",), branch_deadline=1)
    job_id = full.run(request)
    while not full.board.has_ended(job_id):
        full.let_pass(0.1)
        full.answer(*sweep(full.ports))
    record = full.board.picture(job_id).record
    assert (record.state, record.code) == ("failed", "store_down")
    assert record.reason == "modules/code: no search came through: original: PostgreSQL: AdminShutdown"


def test_what_a_dying_worker_left_undone_is_done_by_the_next(full: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that dies after the last step of a branch has left no end of it."""
    request = asked()
    job_id = full.submit(request)
    left: list[str] = []

    def die(_: str, name: str, __: Outcome) -> Picture | None:
        left.append(name)
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(full.board, "add_closed_step", die)
        for step in request.steps:
            with pytest.raises(KeyboardInterrupt):
                full.ring(job_id, request, step)
            break
    assert left == ["reports/filings"]
    for step in request.steps[1:]:
        full.ring(job_id, request, step)
    result: Any = full.result(job_id)
    assert result.complete
    assert {branch.state for branch in result.branches} == {"done"}


def test_readers_are_told_of_the_joint_ranking_and_of_the_end_of_each_branch(full: World) -> None:
    request = asked()
    job_id = full.run(request)
    told = [event for _, event in full.board.events(job_id)]
    assert {event.stage for event in told if isinstance(event, StageFinished)} >= set(EVERYTHING)
    rankings = [event for event in told if isinstance(event, Hits)]
    assert rankings, "the first branch is told at once"
    keys = [hit.key for hit in rankings[0].hits]
    assert keys[0].partition("#")[0] in EVERYTHING


def test_two_branches_of_one_kind_do_not_share_what_they_note(world: World) -> None:
    """Each collection's hits and queries are its own, though both branches ask the same question."""
    for name, text in (("north", "nine ships in the north"), ("south", "nine ships in the south")):
        world.ingest(report(name, text), collection=name)
    held = {"north": ("reports",), "south": ("reports",)}
    result = answered(world, with_branches(Search(query="nine ships"), held))
    assert [(hit.collection, hit.hit.text) for hit in sorted(result.results, key=lambda hit: hit.collection)] == [  # type: ignore[union-attr]
        ("north", "nine ships in the north"),
        ("south", "nine ships in the south"),
    ]


@pytest.mark.parametrize("turn", [1, -1])
def test_equal_hits_stand_in_the_order_that_was_asked_whichever_branch_ends_first(world: World, turn: int) -> None:
    for name in ("north", "south"):
        world.ingest(report(name, "nine ships"), collection=name)
    request = with_branches(Search(query="nine ships"), {"north": ("reports",), "south": ("reports",)})
    job_id = world.submit(request)
    for step in request.steps[::turn]:
        world.ring(job_id, request, step)
    result: Any = world.result(job_id)
    assert [(hit.collection, hit.score) for hit in result.results] == [
        ("north", result.results[0].score), ("south", result.results[0].score),
    ]  # fmt: skip


def test_a_question_about_code_spares_what_is_no_code_if_the_code_says_enough(full: World) -> None:
    request = asked(query="restore unacked messages in channel.py")
    assert request.asked_first == ("modules/code", "files/code")
    result = answered(full, request)
    assert {branch.kind: branch.state for branch in result.branches} == {
        "reports": "spared", "messages": "spared", "conversations": "spared", "modules": "done", "files": "done",
    }  # fmt: skip
    assert result.complete, "what is spared is not missed"
    assert result.routing is not None
    assert "the question names code ('channel.py')" in result.routing
    assert "of its words, so the others were spared" in result.routing
    assert all(stage.name.startswith(("modules/", "files/")) for stage in result.stages)


def test_where_the_likely_branches_say_little_the_others_are_asked_after_all(full: World) -> None:
    """The only hit is in a chat, though the question names a file."""
    request = asked(query="who buys nine ships by harbour_dues.py, and why so many")
    result = answered(full, request)
    assert {branch.state for branch in result.branches} == {"done"}
    assert result.results[0].kind in {"messages", "conversations", "reports"}
    assert "the others were asked, too" in str(result.routing)


def test_where_the_likely_branch_fails_the_others_are_asked_after_all(full: World) -> None:
    full.with_ports(modules=Broken(full.modules, "vocabulary"))
    request = asked(branches=EVERYTHING, asked_first=("modules/code",), branch_deadline=1)
    job_id = full.run(request)
    while not full.board.has_ended(job_id):
        full.let_pass(0.1)
        full.answer(*sweep(full.ports))
    result: Any = full.result(job_id)
    assert {branch.kind: branch.state for branch in result.branches} == {
        "reports": "done", "messages": "done", "conversations": "done", "modules": "failed", "files": "done",
    }  # fmt: skip
    assert "because the request says so" in result.routing


def test_what_could_not_be_asked_before_the_deadline_is_missing(full: World) -> None:
    """The only branch that was asked hangs."""
    request = asked(branches=EVERYTHING[:2], asked_first=EVERYTHING[:1], deadline=4)
    job_id = full.submit(request)
    assert full.board.claim(job_id, "reports/filings/original") is not None
    while not full.board.has_ended(job_id):
        full.let_pass(0.1)
        full.answer(*sweep(full.ports))
    record = full.board.picture(job_id).record
    assert record.state == "failed"
    assert "messages/talks" in record.reason
