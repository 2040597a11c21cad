import threading
from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import pytest

from querymill_shared.contracts.jobs import Search
from querymill_workers.dispatch import announce
from querymill_workers.dispatch.announce import Announcer, announce_all, announcing_stores
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from tests.fakes.ports import memory_ports
from tests.fixtures.world import World, example, report


class AbsentModules(MemoryModules):
    def collections(self) -> Sequence[str]:
        raise Unavailable("MongoDB: away")


class ListedModules(MemoryModules):
    times = 0

    def collections(self) -> Sequence[str]:
        self.times += 1
        return []


class SilentModules(MemoryModules):
    def __init__(self) -> None:
        super().__init__()
        self.released = threading.Event()

    def collections(self) -> Sequence[str]:
        self.released.wait()
        return ["late"]


def test_every_kind_of_search_has_a_store_that_announces_its_collections() -> None:
    kinds = {store.kind for store in announcing_stores(memory_ports())}
    assert kinds == {search.model_fields["kind"].default for search in get_args(Search)}


def test_what_is_stored_is_known_to_a_board_that_was_emptied(world: World) -> None:
    world.ingest(report("a", "nine ships"))
    world.ingest_code(example(1, "vtkActor"))
    emptied = memory_ports(reports=world.reports, modules=world.modules)
    announce_all(emptied)
    assert (emptied.board.collections("reports"), emptied.board.collections("modules")) == ({"filings"}, {"code"})


def test_a_store_that_is_away_holds_up_no_other(world: World) -> None:
    world.ingest(report("a", "nine ships"))
    emptied = memory_ports(reports=world.reports, modules=AbsentModules())
    announce_all(emptied)
    assert emptied.board.collections("reports") == {"filings"}


def test_a_store_that_is_slow_is_not_waited_for(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(announce, "WAIT_S", 0.05)
    world.ingest(report("a", "nine ships"))
    silent = SilentModules()
    ports = replace(world.ports, modules=silent)
    announce_all(ports)
    assert "late" not in ports.board.collections("modules")
    silent.released.set()


def test_what_the_board_lost_is_announced_again(world: World) -> None:
    world.ingest(report("a", "nine ships"))
    emptied = memory_ports(reports=world.reports)
    Announcer(emptied).look()
    assert emptied.board.collections("reports") == {"filings"}
    assert emptied.board.unannounced(["reports", "modules"]) == []


def test_what_is_announced_is_not_listed_again(world: World) -> None:
    listed = ListedModules()
    ports = replace(world.ports, modules=listed)
    announce_all(ports)
    Announcer(ports).look()
    assert listed.times == 1


def test_a_store_that_was_away_is_announced_when_it_is_back(world: World) -> None:
    world.ingest_code(example(1, "vtkActor"))
    away = memory_ports(modules=AbsentModules())
    announce_all(away)
    assert away.board.unannounced(["reports", "modules"]) == ["modules"]
    Announcer(replace(away, modules=world.modules)).look()
    assert away.board.collections("modules") == {"code"}
