"""One question over everything: what may be asked, and what is searched."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.errors import UnknownCollection
from querymill_shared.contracts.files.search import FileHit
from querymill_shared.contracts.jobs import decode_result, validate_request
from querymill_shared.contracts.kinds import SEARCHES
from querymill_shared.contracts.reports.search import ReportHit
from querymill_shared.contracts.search import (
    ALL,
    MAX_BRANCHES,
    JointHit,
    Search,
    SearchResult,
    branch_and_step,
    with_branches,
)
from querymill_shared.queues import Queue

HELD = {"chats": ("messages", "conversations"), "filings": ("reports",), "code.base": ("files", "modules")}
REPORT = {
    "document": "a1", "unit": "page", "number": 3, "page": 3, "title": "Filing", "company": None, "period": None,
    "text": "nine ships", "score": 0.5, "similarity": 0.7, "explanation": {},
}  # fmt: skip
FILE = {
    "path": "a.py", "score": 0.4, "relevance": 0.4, "band": "high", "why": "a word", "round": 1, "found_by": ["words"],
    "tokens": 9, "excerpt": [], "explanation": {},
}  # fmt: skip


def asked(**fields: Any) -> Search:
    return Search.model_validate({"query": "where is it"} | fields)


@pytest.mark.parametrize(
    ("fields", "branches"),
    [
        ({}, ["messages/chats", "conversations/chats", "reports/filings", "modules/code.base", "files/code.base"]),
        ({"collections": ["chats"]}, ["messages/chats", "conversations/chats"]),
        ({"kinds": ["files", "reports"]}, ["reports/filings", "files/code.base"]),
        (
            {"collections": ["filings", "chats"], "kinds": ["messages", "reports"]},
            ["reports/filings", "messages/chats"],
        ),
        ({"branches": ["files/code.base"]}, ["files/code.base"]),
    ],
)
def test_a_search_asks_what_its_collections_hold(fields: dict[str, Any], branches: list[str]) -> None:
    assert list(with_branches(asked(**fields), HELD).branches) == branches


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"collections": ["nowhere"]}, "nowhere"),
        ({"collections": ["filings"], "kinds": ["files"]}, "filings"),
        ({"collections": ["chats", "filings"], "kinds": ["reports"]}, "chats"),
        ({"branches": ["files/filings"]}, "filings"),
        ({"branches": ["reports/secret"]}, "secret"),
    ],
)
def test_what_holds_nothing_of_the_kinds_is_refused_by_name(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(UnknownCollection) as caught:
        with_branches(asked(**fields), HELD)
    assert caught.value.collection == named


def test_nothing_at_all_to_search_is_refused() -> None:
    with pytest.raises(UnknownCollection) as caught:
        with_branches(asked(), {})
    assert caught.value.collection == ALL


def test_more_branches_than_a_search_may_have_are_refused() -> None:
    held = {f"c{number}": ("reports",) for number in range(MAX_BRANCHES + 1)}
    with pytest.raises(ValueError, match=rf"^collections: a search reads up to {MAX_BRANCHES} .* {MAX_BRANCHES + 1}"):
        with_branches(asked(), held)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        ({"kinds": ["letters"]}, "must be one of: reports, modules"),
        ({"kinds": ["files", "files"]}, "values must be unique"),
        ({"collections": ["no name!"]}, "pattern"),
        ({"branches": ["files"]}, "pattern"),
        ({"branches": ["letters/chats"]}, "must be one of"),
        ({"branches": ["files/a"], "collections": ["b"]}, "is of no collection among `collections`"),
        ({"branches": ["files/a"], "kinds": ["reports"]}, "is of no kind among `kinds`"),
        ({"branches": ["files/a"], "asked_first": ["files/b"]}, "asked_first: 'files/b' must be among `branches`"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"top_k": 0}, "greater than or equal to 1"),
        ({"query": " "}, "must not be empty"),
        ({"filter": {"time": "someday"}}, "time"),
    ],
)
def test_what_breaks_a_rule_is_refused(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        asked(**fields)


def test_a_filter_is_held_against_the_kinds_that_are_searched() -> None:
    assert asked(filter={"time": "someday"}, kinds=["reports"]).filter == {"time": "someday"}


def test_each_branch_is_the_search_of_its_kind() -> None:
    its_caller = {"time_zone": "Europe/Oslo", "locale": "en-GB", "metadata": True}
    search = with_branches(asked(top_k=7, filter={"user_name": "ann"}, **its_caller), HELD)
    for branch in search.branches:
        own: Any = search.search_of(branch)
        assert f"{own.kind}/{own.collection}" == branch
        assert (own.query, own.filter, own.lane) == (search.query, search.filter, search.lane)
        limits = [name for name in ("top_n", "limit", "top_k") if name in type(own).model_fields]
        assert [getattr(own, name) for name in limits] == [7]
    files: Any = search.search_of("files/code.base")
    modules: Any = search.search_of("modules/code.base")
    assert (files.context_budget, modules.prompt_tokens) == (0, 0)
    conversations: Any = search.search_of("conversations/chats")
    assert (conversations.time_zone, conversations.locale, conversations.metadata) == ("Europe/Oslo", "en-GB", True)
    assert {type(search.search_of(branch)) for branch in search.branches} == set(SEARCHES.values())


def test_earlier_turns_are_handed_to_every_branch() -> None:
    turns = [{"role": "user", "text": "the harbour dues"}]
    search = with_branches(asked(history=turns), HELD)
    histories: list[Any] = [search.search_of(branch) for branch in search.branches]
    assert all(own.history == search.history for own in histories)


def test_steps_are_named_after_their_branches_and_have_the_queues_of_their_kinds() -> None:
    search = with_branches(asked(), HELD)
    assert "files/code.base/search-1-words" in search.steps
    assert branch_and_step("files/code.base/search-1-words") == ("files/code.base", "search-1-words")
    assert branch_and_step("files/code.base") == ("files/code.base", "")
    assert {search.queue_of(step) for step in search.steps} == {Queue.SEARCH}
    assert search.collection == "chats,filings,code.base"


def test_a_branch_has_half_of_the_time_unless_it_is_told() -> None:
    assert asked(deadline=10).ends_s("reports/filings") == 5
    assert asked(deadline=10, branch_deadline=8).ends_s("reports/filings") == 8
    assert asked(deadline=10, branch_deadline=80).ends_s("reports/filings") == 10


def test_a_question_that_says_what_it_is_about_asks_there_first() -> None:
    search = with_branches(asked(query="where is max_retries set in worker.py", deadline=8), HELD)
    assert search.asked_first == ("modules/code.base", "files/code.base")
    assert {branch_and_step(step)[0] for step in search.steps} == {*search.asked_first}
    # Those asked after all have half of what the first ones leave.
    assert [search.ends_s(branch) for branch in ("files/code.base", "reports/filings")] == [4, 6]
    assert with_branches(search, HELD) == search, "a gateway's choice is the client's"
    assert len(with_branches(asked(), HELD).steps) == 5, "a question that says nothing asks all at once"


def test_who_names_branches_decides_which_are_asked_first() -> None:
    named = {"query": "where is max_retries set", "branches": ["files/code.base", "reports/filings"]}
    assert with_branches(asked(**named), HELD).asked_first == ()
    chosen = with_branches(asked(**named, asked_first=["reports/filings"]), HELD)
    assert chosen.steps == ("reports/filings/original",)


def result_with(*hits: dict[str, Any]) -> dict[str, Any]:
    return {
        "job_id": "j", "kind": "search", "total": len(hits), "complete": True, "query": "q", "collections": ["c"],
        "results": [{"collection": "c", "rank": 1, "score": 0.1, "explanation": {}} | hit for hit in hits],
        "branches": [],
    }  # fmt: skip


def test_hits_are_read_as_those_of_their_kinds() -> None:
    written = result_with({"kind": "reports", "hit": REPORT}, {"kind": "files", "hit": FILE})
    result = decode_result(json.dumps(written))
    assert isinstance(result, SearchResult)
    assert [type(hit.hit) for hit in result.results] == [ReportHit, FileHit]
    assert decode_result(result.model_dump_json()) == result


def test_a_field_of_a_newer_release_is_ignored_in_a_hit_on_the_board_and_refused_from_a_caller() -> None:
    newer = {"kind": "reports", "hit": REPORT | {"novelty": 1}}
    result: Any = decode_result(json.dumps(result_with(newer)))
    assert (type(result.results[0].hit), result.results[0].hit.document) == (ReportHit, "a1")
    with pytest.raises(ValidationError):
        JointHit.model_validate(newer | {"collection": "c", "rank": 1, "score": 0.1, "explanation": {}})


def test_it_is_a_request_like_any_other() -> None:
    assert validate_request('{"kind": "search", "query": "where is it"}') == asked()


def test_each_branch_is_asked_after_the_same_turns() -> None:
    search = asked(branches=["reports/filings", "files/code.base"], history=[{"role": "user", "text": "which ships?"}])
    assert [search.search_of(branch).history for branch in search.branches] == [search.history] * 2
