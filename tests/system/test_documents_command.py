"""Stored documents on the command line, and through the asynchronous client, on a real deployment."""

import asyncio
import json
from pathlib import Path
from uuid import uuid4

import pytest

from querymill import AsyncQuerymill, JobFailed
from tests.fakes.worker import WorkerProcess
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.people import Person, document
from tests.fixtures.short_forms import named_at_night


@pytest.fixture
def crowd(worker: WorkerProcess, querymill: CommandLine, tmp_path: Path) -> tuple[str, list[str]]:
    """A collection of three code documents, and their ids in order."""
    collection, lines = f"crowd-{uuid4().hex[:8]}", tmp_path / "lines.jsonl"
    found = [document("modules", Person.new()) | {"team": team} for team in ("red", "blue", "red")]
    lines.write_text("\n".join(map(json.dumps, found)), encoding="utf-8")
    ingested = querymill("ingest", "modules", lines, "--collection", collection)
    assert ingested.returncode == 0, ingested.stderr
    return collection, sorted(each["file_path"] for each in found)


def test_documents_are_listed_and_shown(querymill: CommandLine, crowd: tuple[str, list[str]]) -> None:
    collection, ids = crowd
    page = json.loads(querymill("list", "modules", "--collection", collection, "--limit", "2", "--json").stdout)
    assert ([card["id"] for card in page["documents"]], page["total"]) == (ids[:2], 3)
    more = ("--cursor", page["cursor"], "--json")
    rest = json.loads(querymill("list", "modules", "--collection", collection, *more).stdout)
    assert [card["id"] for card in rest["documents"]] == ids[2:]
    red = querymill("list", "modules", "--collection", collection, "--filter", "team=red")
    assert "2 of 2" in red.stdout
    shown = json.loads(querymill("show", "modules", ids[0], "--collection", collection).stdout)
    assert shown["file_path"] == ids[0]
    listed = json.loads(querymill("collections", "--json").stdout)
    assert listed[collection] == ["modules"]


def test_an_export_is_ingested_again(querymill: CommandLine, crowd: tuple[str, list[str]], tmp_path: Path) -> None:
    collection, _ = crowd
    copy, out = f"{collection}-copy", tmp_path / "out.jsonl"
    exported = querymill("export", "modules", "--collection", collection, "--out", out, "--json")
    assert json.loads(exported.stdout) == {"exported": 3}
    assert querymill("ingest", "modules", out, "--collection", copy).returncode == 0
    again = querymill("export", "modules", "--collection", copy)
    assert again.stdout == out.read_text(encoding="utf-8")


def test_dropping_needs_a_yes_and_is_for_good(querymill: CommandLine, crowd: tuple[str, list[str]]) -> None:
    collection, ids = crowd
    asked = querymill("drop", "modules", ids[0], "--collection", collection)
    assert (asked.returncode, "give --yes" in asked.stderr) == (2, True)
    dropped = querymill("drop", "modules", ids[0], "--collection", collection, "--yes", "--json")
    assert json.loads(dropped.stdout)["total"] == 1
    one = querymill("drop", "modules", "--collection", collection, "--filter", "team=blue", "--yes")
    assert "dropped from" in one.stdout
    rest = querymill("drop", "modules", "--collection", collection, "--everything", "--yes")
    assert rest.returncode == 0
    assert collection not in json.loads(querymill("collections", "--json").stdout)


WRONG = [
    (("list", "songs"), 2, "kind: 'songs' is not one of"),
    (("list", "modules", "--filter", "team"), 2, "filter: 'team' is not name=value"),
    (("list", "modules", "--limit", "0"), 2, "limit"),
    (("list", "modules", "--cursor", "rubbish"), 2, "cursor: must be the cursor of a former page"),
    (("list", "reports", "--filter", "published_at=soon"), 2, "published_at: must be a day"),
    (("show", "modules", "nobody"), 1, "'nobody' is not among the modules"),
    (("drop", "modules"), 2, "give an id, --filter or --everything"),
    (("drop", "modules", "a", "--everything"), 2, "give an id, --filter or --everything"),
    (("drop", "all", "a", "--yes"), 2, "an id belongs to one kind"),
]


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    named_at_night(
        {" ".join(wrong[0]): wrong for wrong in WRONG},
        short=["list modules --cursor rubbish", "show modules nobody", "drop modules"],
    ),
)
@pytest.mark.usefixtures("worker")
def test_wrong_use_is_named(querymill: CommandLine, arguments: tuple[str, ...], code: int, said: str) -> None:
    ended = querymill(*arguments, "--collection", "nowhere")
    assert (ended.returncode, said in ended.stderr) == (code, True), ended.stderr


def test_the_asynchronous_client_does_the_same(deployment: Deployment, crowd: tuple[str, list[str]]) -> None:
    collection, ids = crowd

    async def carry_out() -> None:
        async with AsyncQuerymill(settings=deployment.settings) as mill:
            assert (await mill.list("modules", collection=collection, limit=2)).total == 3
            assert [each["file_path"] async for each in mill.export("modules", collection=collection)] == ids
            assert (await mill.show("modules", ids[1], collection=collection))["file_path"] == ids[1]
            assert (await mill.drop("modules", collection=collection, ids=ids[:1], timeout=60)).total == 1
            assert (await mill.collections())[collection] == ("modules",)
            with pytest.raises(JobFailed):
                await mill.show("modules", ids[0], collection=collection)

    asyncio.run(carry_out())


@pytest.mark.parametrize("command", ["list", "export"])
def test_a_collection_that_is_not_there_is_said_to_be_unknown(
    querymill: CommandLine, crowd: tuple[str, list[str]], command: str
) -> None:
    collection, _ = crowd
    found = querymill(command, "modules", "--collection", f"{collection}x")
    assert (found.returncode, f"no modules in '{collection}x'" in found.stderr) == (2, True)
    assert collection in found.stderr  # of what is there
