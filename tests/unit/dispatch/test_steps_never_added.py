"""A worker that dies before it adds the steps that follow: the search says at its deadline what was never begun."""

from typing import Any

import pytest

from querymill_shared.contracts.answer import AnswerHit, AnswerQuestion
from querymill_shared.contracts.kinds import SEARCHES
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.search import Search, with_branches
from querymill_workers.dispatch.sweeper import sweep
from tests.fixtures.code_base import ASKED
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.world import World, new_world
from tests.unit.dispatch.test_store_away_at_the_end import (
    ALWAYS,
    Flaky,
    hold_chats,
    hold_code,
    hold_files,
    hold_reports,
    hold_talks,
)  # fmt: skip

REPORTS: dict[str, Any] = {"query": "revenue rose", "collection": "filings"}
ANSWERED = AnswerHit(id="a", text="the fleet has nine ships")
HELD = {"filings": ("reports",), "c": ("messages",), "code": ("modules", "files")}
BRANCHES = ("modules/code", "messages/c")


def hold_all(world: World) -> None:
    for hold in (hold_reports, hold_chats, hold_talks, hold_code, hold_files):
        hold(world)


def joint(**fields: Any) -> Search:
    return with_branches(Search.model_validate({"query": "revenue rose", "deadline": 30} | fields), HELD)


def expanded(kind: str, collection: str) -> Any:
    question = "restore unacked messages" if kind == "files" else "nine ships"
    asked: dict[str, Any] = {"query": question, "collection": collection, "deadline": 30, "hyde": True}
    asked |= {"multi_query": ("variant",)}
    return SEARCHES[kind].model_validate(asked)


CASES: dict[str, Any] = {
    "reports reranked": ReportSearch(**REPORTS, rerank=True),
    "reports with an answer that is judged": ReportSearch(**REPORTS, answer=True, judge=True),
    "reports of which one is missed": ReportSearch(**REPORTS, why_not="a1"),
    "messages expanded": expanded("messages", "c"),
    "conversations expanded": expanded("conversations", "c"),
    "modules expanded": expanded("modules", "code"),
    "files expanded": expanded("files", "code"),
    "messages reranked": MessageSearch(query="nine ships", collection="c", rerank=True),
    "modules reranked": ModuleSearch(query="vtkConeSource", collection="code", rerank=True),
    "files in rounds": ASKED,
    "files in one round": ASKED.model_copy(update={"rounds": 1}),
    "files in one shot": ASKED.model_copy(update={"mode": "oneshot"}),
    "everything, files among it": joint(query="restore unacked messages"),
    "everything, modules first": joint(query="nine ships", branches=BRANCHES, asked_first=BRANCHES[:1]),
    "everything, reranked": joint(rerank=True),
    "an answer that is judged": AnswerQuestion(query="how many ships?", collection="c", hits=(ANSWERED,), judge=True),
}


def begin() -> tuple[World, Flaky]:
    world = new_world()
    hold_all(world)
    world.rewriter.replies = {f"hyde-{kind}": lambda question: f"{question} of the fleet" for kind in SEARCHES}
    world.rewriter.replies["variant-any"] = lambda question: f"<how many {question}> <which {question}>"
    world.answers.writes = True
    board = Flaky(world.board, "add_steps")
    world.with_ports(board=board)
    return world, board


def end_late(world: World, job_id: str, deadline: float) -> Any:
    """Let the deadline of a job pass, and return its result, None if it failed."""
    world.let_pass(deadline + 1)
    world.answer(*sweep(world.ports))
    assert world.board.has_ended(job_id)
    return world.result(job_id) if world.board.picture(job_id).record.state == "done" else None


@pytest.mark.parametrize("name", all_at_night(CASES, short=[name for name in CASES if name != "files expanded"]))
def test_a_search_is_not_complete_if_a_step_that_follows_was_never_added(name: str) -> None:
    request = CASES[name]
    world, board = begin()
    whole: Any = world.result(world.run(request))
    assert whole.complete, whole.degraded
    assert board.calls
    for spared in range(board.calls):
        world, board = begin()
        board.spared, board.left = spared, ALWAYS
        result = end_late(world, world.run(request), request.deadline)
        assert result is not None
        assert not result.complete, f"{spared} of the steps that follow were added"
        assert "deadline" in {part.code for part in result.degraded}
