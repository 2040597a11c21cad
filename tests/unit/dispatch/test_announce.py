import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest

from querymill_shared.contracts.kinds import KindSearch
from querymill_workers.dispatch import announce
from querymill_workers.dispatch.announce import Announcer, announce_all, announcing_stores
from querymill_workers.documents.memory import MemoryDocuments
from querymill_workers.jobs.faults import Unavailable
from tests.fakes.ports import memory_ports
from tests.fixtures.world import World, example, report


class AbsentDocuments(MemoryDocuments):
    def collections(self) -> Sequence[str]:
        raise Unavailable("PostgreSQL: away")


class ListedDocuments(MemoryDocuments):
    times = 0

    def collections(self) -> Sequence[str]:
        self.times += 1
        return []


class SilentDocuments(MemoryDocuments):
    def __init__(self) -> None:
        super().__init__("modules")
        self.released = threading.Event()

    def collections(self) -> Sequence[str]:
        self.released.wait()
        return ["late"]


def test_every_kind_of_search_has_a_store_that_announces_its_collections() -> None:
    kinds = {store.kind for store in announcing_stores(memory_ports())}
    assert kinds == {search.model_fields["kind"].default for search in get_args(KindSearch)}


def test_what_is_stored_is_known_to_a_board_that_was_emptied(world: World) -> None:
    world.ingest(report("a", "nine ships"))
    world.ingest_code(example(1, "vtkActor"))
    emptied = memory_ports(documents=world.ports.documents)
    announce_all(emptied)
    assert (emptied.board.collections("reports"), emptied.board.collections("modules")) == ({"filings"}, {"code"})


def test_a_store_that_is_away_holds_up_no_other(world: World) -> None:
    world.ingest(report("a", "nine ships"))
    emptied = memory_ports(documents={**world.ports.documents, "modules": AbsentDocuments("modules")})
    announce_all(emptied)
    assert emptied.board.collections("reports") == {"filings"}


def test_a_store_that_is_slow_is_not_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announce, "WAIT_S", 0.05)
    world.ingest(report("a", "nine ships"))
    silent = SilentDocuments()
    ports = replace(world.ports, documents={**world.ports.documents, "modules": silent})
    announce_all(ports)
    assert "late" not in ports.board.collections("modules")
    silent.released.set()


def test_what_the_board_lost_is_announced_again(world: World) -> None:
    world.ingest(report("a", "nine ships"))
    emptied = memory_ports(documents=world.ports.documents)
    Announcer(emptied).look()
    assert emptied.board.collections("reports") == {"filings"}
    assert emptied.board.unannounced(["reports", "modules"]) == []


def test_what_is_announced_is_not_listed_again(world: World) -> None:
    listed = ListedDocuments("modules")
    ports = replace(world.ports, documents={**world.ports.documents, "modules": listed})
    announce_all(ports)
    Announcer(ports).look()
    assert listed.times == 1


def test_a_store_that_was_away_is_announced_when_it_is_back(world: World) -> None:
    world.ingest_code(example(1, "vtkActor"))
    away = memory_ports(documents={**world.ports.documents, "modules": AbsentDocuments("modules")})
    announce_all(away)
    assert away.board.unannounced(["reports", "modules"]) == ["modules"]
    Announcer(replace(away, documents=world.ports.documents)).look()
    assert away.board.collections("modules") == {"code"}
