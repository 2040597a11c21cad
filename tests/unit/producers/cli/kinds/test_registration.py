"""Every kind that can be searched is registered once, and whatever lists kinds lists them all."""

from typing import Any, cast, get_args

import pytest
import typer
from pydantic import BaseModel
from typer.testing import CliRunner

from querymill.cli.exits import WrongUse
from querymill.cli.kind import Kind
from querymill.cli.kinds import KINDS, kind_named
from querymill.cli.main import app
from querymill.cli.options import NOT_FIELDS, given_fields, signature_of
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.kinds import KindResult, KindSearch
from querymill_shared.contracts.reindex import IndexedKind
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fixtures.options import fields_of

KIND = pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])


def printed_by(*arguments: str) -> str:
    return CliRunner().invoke(app, [*arguments], env={"COLUMNS": "200"}).output


def test_the_kinds_are_those_that_can_be_searched() -> None:
    assert {kind.search for kind in KINDS} == set(get_args(KindSearch))
    assert {kind.result for kind in KINDS} == set(get_args(KindResult))
    assert len(KINDS) == len(get_args(KindSearch))


@KIND
def test_a_kind_has_the_name_that_its_request_and_result_bear(kind: Kind[Any]) -> None:
    contracts = cast("tuple[type[BaseModel], ...]", (kind.search, kind.result))
    assert {contract.model_fields["kind"].default for contract in contracts} == {kind.name}
    assert kind_named(kind.name) is kind


@KIND
def test_a_kind_lives_in_a_folder_of_its_name(kind: Kind[Any]) -> None:
    assert kind.show.__module__ == f"querymill.cli.kinds.{kind.name}.screen"


@KIND
def test_each_field_of_a_request_is_an_option_and_each_option_is_a_field(kind: Kind[Any]) -> None:
    assert set(signature_of(kind.search, kind.flags).parameters) - NOT_FIELDS == fields_of(kind)


@KIND
def test_each_field_of_a_request_says_what_it_is(kind: Kind[Any]) -> None:
    fields = cast("type[BaseModel]", kind.search).model_json_schema()["properties"].items()
    assert [name for name, about in fields if name != "kind" and not about.get("description")] == []


@KIND
def test_what_a_kind_ingests_is_a_job(kind: Kind[Any]) -> None:
    lines = kind.loadable.documents
    assert lines.request in get_args(JobRequest)
    assert lines.request.model_fields["kind"].default == f"ingest_{kind.name}"


@KIND
def test_a_kind_has_a_part_in_the_demo(kind: Kind[Any]) -> None:
    assert kind.demo


@KIND
def test_every_kind_is_a_command_and_is_named_by_the_help(kind: Kind[Any]) -> None:
    group = typer.main.get_command(app)
    assert kind.name in group.imported("search").commands  # type: ignore[attr-defined]  # of the class Commands
    assert kind.name in printed_by("search", "--help")
    assert kind.name in printed_by("ingest", "--help")


def test_reindex_names_each_kind_that_it_takes() -> None:
    said = printed_by("reindex", "--help")
    assert [name for name in get_args(IndexedKind) if name not in said] == []


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(WrongUse, match=f"kind: 'songs' is not one of: {', '.join(kind.name for kind in KINDS)}$"):
        kind_named("songs")


def test_options_that_were_not_given_are_no_fields() -> None:
    asked = {"query": "q", "top_n": 0, "hyde": False, "company": "", "documents": [], "lane": None}
    assert given_fields(asked | {"request": "file.json", "as_json": True}, ReportSearch) == {
        "query": "q", "top_n": 0, "hyde": False, "company": ""
    }  # fmt: skip


@KIND
def test_a_kind_is_explained_by_the_help(kind: Kind[Any]) -> None:
    said = kind.help.partition(";")[0]
    assert said
    assert said in printed_by("search", "--help")
