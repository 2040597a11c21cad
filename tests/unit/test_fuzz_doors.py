"""The doors that are fuzzed at night: every registry of readers is among them, and what is good goes in."""

import pytest

from querymill.agents.server import TOOLS
from querymill.ingesting.kinds import KINDS
from querymill_histories.formats import FORMATS as HISTORIES
from querymill_reading.archives import SUFFIXES
from querymill_reading.formats import FORMATS as DOCUMENTS
from tests.fixtures.short_forms import all_at_night
from tests.fuzz import seeds
from tests.fuzz.doors import all_doors

DOORS = all_doors()
#: One of each family.
BY_DAY = (
    "document-rtf",
    "archive.zip",
    "history-mbox-mbox",
    "http-job",
    "filter-reports",
    "mcp-search",
    "board-record",
)


def test_every_reader_that_is_registered_is_a_door() -> None:
    assert seeds.DOCUMENTS.keys() == {known.name for known in DOCUMENTS}
    beginnings = [
        *(f"document-{known.name}" for known in DOCUMENTS), *(f"archive{suffix}" for suffix in SUFFIXES),
        *(f"history-{known.name}-" for known in HISTORIES), *(f"http-lines-{kind.name}" for kind in KINDS),
        *(f"mcp-{name}" for name in TOOLS), "http-job", "filter-", "bell-", "board-record", "board-event",
    ]  # fmt: skip
    assert [one for one in beginnings if not any(name.startswith(one) for name in DOORS)] == []


@pytest.mark.parametrize("name", all_at_night(DOORS, short=BY_DAY))
def test_a_door_takes_its_seeds_and_what_is_none(name: str) -> None:
    door = DOORS[name]
    assert door.seeds()
    for content in (*door.seeds(), b"", b"\0", b"[" * 5_000, b"\xff\xfe{}"):
        door.take(content)


@pytest.mark.parametrize("name", ["board-record", "board-trail"])
def test_a_moment_that_no_clock_can_hold_makes_a_record_malformed(name: str) -> None:
    for seed in DOORS[name].seeds():
        DOORS[name].take(seed.replace(b"1715590800000", b"9" * 400))
