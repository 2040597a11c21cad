"""Search forms are made from the contracts, and what they send is what the contracts read."""

from typing import Any

import pytest

from querymill.gateway.console.forms import FormKind, fields_of, form_of, given_after, given_by
from querymill.gateway.console.search import KINDS
from querymill.gateway.http.scopes import REQUESTS


@pytest.mark.parametrize("kind", KINDS)
def test_every_field_of_a_request_is_in_its_form_once(kind: FormKind) -> None:
    form = form_of(kind, REQUESTS[kind], {})
    names = [field.name for field in (*form.first, *form.more)]
    assert len(names) == len(set(names))
    worked_out = {"kind", "version", "collection", "branches", "asked_first"}
    assert set(names) == set(REQUESTS[kind].model_fields) - worked_out
    assert not form.is_open


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_beside_a_question_stands_below_it(kind: FormKind) -> None:
    first = [field.name for field in form_of(kind, REQUESTS[kind], {}).first]
    assert first[:3] == (["query", "collections", "kinds"] if kind == "search" else ["query", "hyde", "multi_query"])
    assert (
        first[3:]
        == {
            "reports": ["answer", "company", "period", "deadline"],
            "messages": ["session_id", "ranking", "limit"],
            "conversations": ["current_session", "time_zone"],
            "modules": ["sub_queries", "top_k"],
            "files": ["rounds", "patterns"],
            "search": ["group"],
        }[kind]
    )


@pytest.mark.parametrize("kind", KINDS)
def test_a_form_that_is_sent_as_it_is_asks_for_the_defaults(kind: FormKind) -> None:
    asked = REQUESTS[kind]
    form = form_of(kind, asked, {"query": ["margins"]})
    sent = {field.name: list(field.values) or [""] for field in (*form.first, *form.more)}
    plain = asked.model_validate({"query": "margins"} | ({} if kind == "search" else {"collection": "c"}))
    assert asked.model_validate(fields_of(kind, asked, sent, "c")) == plain


@pytest.mark.parametrize("chosen", ["auto", "true", "false"])
def test_when_a_judge_is_asked_is_chosen_of_a_list(chosen: str) -> None:
    asked = REQUESTS["messages"]
    (field,) = [each for each in form_of("messages", asked, {"rerank": [chosen]}).more if each.name == "rerank"]
    assert (field.control, field.choices, field.values) == ("choice", ("auto", "true", "false"), (chosen,))
    search = asked.model_validate(fields_of("messages", asked, {"query": ["cone"], "rerank": [chosen]}, "c"))
    assert search.model_dump()["rerank"] == {"auto": "auto", "true": True, "false": False}[chosen]


def test_fields_are_read_as_the_contract_has_them() -> None:
    given = {
        "query": ["cone"],
        "sub_queries": ["3 | a cone\na sphere"],
        "top_k": ["4"],
        "lexicon": [""],
        "channels": ["", "modules"],
        "filter": ["path^=src/\nmodule=vtkConeSource"],
    }
    search = REQUESTS["modules"].model_validate(fields_of("modules", REQUESTS["modules"], given, "code"))
    read = search.model_dump()
    assert [part["weight"] for part in read["sub_queries"]] == [3, 5]
    assert (read["top_k"], read["lexicon"], read["channels"]) == (4, False, ("modules",))
    assert read["filter"] == {"path": {"prefix": "src/"}, "module": "vtkConeSource"}


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("reports", {"query": "margins\nin 2023", "answer": True, "multi_query": ["synonym"], "company": "ACME"}),
        ("reports", {"query": "q", "hyde": True, "deadline": 2.5}),
        ("reports", {"query": "q", "history": [{"role": "user", "text": "a: b"}, {"role": "assistant", "text": "c"}]}),
        ("reports", {"query": "q", "filter": {"year": 2023, "period": {"from": "2021", "to": "2023"}, "gone": None}}),
        ("messages", {"query": "q", "limit": 3}),
        ("modules", {"query": "cone", "lexicon": False, "channels": ["modules"], "sub_queries": ["a cone",
            {"description": "a sphere", "weight": 3}]}),
        ("files", {"query": "q", "patterns": ["def ask", "class A"]}),
        ("conversations", {"query": "q", "time_zone": "Europe/Berlin"}),
        ("search", {"query": "q", "collections": ["a", "b"], "kinds": ["files"], "group": True, "filter": {"n": 2}}),
    ],
)  # fmt: skip
def test_what_a_search_asked_can_be_edited_and_asked_again(kind: FormKind, fields: dict[str, Any]) -> None:
    asked = REQUESTS[kind]
    search = asked.model_validate(fields | ({} if kind == "search" else {"collection": "c"}))
    again = asked.model_validate(fields_of(kind, asked, given_by(kind, search), "c"))
    assert again.model_dump(exclude={"filter"}) == search.model_dump(exclude={"filter"})
    assert form_of(kind, asked, given_by(kind, search)).first[0].value == fields["query"]


def test_the_turns_of_a_chat_are_lines_with_who_said_them() -> None:
    given = {"query": ["and 2021?"], "history": ["revenue of Nordhav: how much?\nassistant: Nine.\n\nUser: why?"]}
    fields = fields_of("reports", REQUESTS["reports"], given, "c")
    assert fields["history"] == [
        {"role": "user", "text": "revenue of Nordhav: how much?"},
        {"role": "assistant", "text": "Nine."},
        {"role": "user", "text": "why?"},
    ]


def test_the_next_question_of_a_chat_has_what_was_asked_and_answered_before_it() -> None:
    asked: type[Any] = REQUESTS["reports"]
    first = asked.model_validate({"query": "revenue of Nordhav\nin 2022?", "collection": "c", "answer": True})
    given = given_after("reports", first, "Forty million [1].\nIt rose.")
    assert given == {
        "answer": ["true"],
        "history": ["user: revenue of Nordhav in 2022?\nassistant: Forty million [1]. It rose."],
    }
    second = asked.model_validate(fields_of("reports", asked, given | {"query": ["and in 2021?"]}, "c"))
    (lines,) = given_after("reports", second, "")["history"]
    assert lines == f"{given['history'][0]}\nuser: and in 2021?"
    assert form_of("reports", asked, given).is_open, "the earlier turns are seen"


def test_a_field_that_is_no_number_is_left_to_the_rule_that_it_breaks() -> None:
    fields = fields_of("messages", REQUESTS["messages"], {"query": ["q"], "limit": ["many"]}, "c")
    assert fields["limit"] == "many"


def test_a_wrong_field_opens_the_others() -> None:
    form = form_of("reports", REQUESTS["reports"], {"candidates": ["1"]}, {"candidates": "must be at least 10"})
    assert form.is_open
    assert next(field for field in form.more if field.name == "candidates").wrong
