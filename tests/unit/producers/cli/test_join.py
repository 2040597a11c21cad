"""What a host that joins a fleet takes from it, and what it asks for."""

from typing import Final

import pytest

from querymill.cli.join import Learned, leads_home, learn
from querymill_shared.board.fleet_settings import SharedSetting

DATABASE: Final = SharedSetting("postgresql://querymill:***@db.example:5432/querymill", hides_a_secret=True)
MODEL: Final = SharedSetting("multilingual-e5-small", hides_a_secret=False)


def test_what_is_no_secret_is_taken() -> None:
    shared = {
        "EMBEDDING_MODEL": MODEL,
        "DATABASE_URL": SharedSetting("postgresql://db.example/q", hides_a_secret=False),
    }
    taken = {"EMBEDDING_MODEL": "multilingual-e5-small", "DATABASE_URL": "postgresql://db.example/q"}
    assert learn(shared, (), is_local=False) == Learned(taken, {})


def test_a_secret_is_asked_for_with_what_is_known_of_it() -> None:
    learned = learn({"DATABASE_URL": DATABASE}, (), is_local=False)
    assert learned.asked == {"DATABASE_URL": f"the fleet has {DATABASE.shown}"}


def test_what_a_host_has_is_neither_taken_nor_asked_for() -> None:
    assert learn(
        {"DATABASE_URL": DATABASE, "EMBEDDING_MODEL": MODEL}, ["DATABASE_URL", "EMBEDDING_MODEL"], is_local=False
    ) == Learned({}, {})


@pytest.mark.parametrize("place", ["127.0.0.1:5432", "localhost", "[::1]:5432"])
def test_an_address_that_leads_home_is_asked_for_unless_the_board_is_there_too(place: str) -> None:
    shared = {"DATABASE_URL": SharedSetting(f"postgresql://{place}/q", hides_a_secret=False)}
    assert "leads to the host" in learn(shared, (), is_local=False).asked["DATABASE_URL"]
    assert learn(shared, (), is_local=True).taken == {"DATABASE_URL": f"postgresql://{place}/q"}


def test_a_fleet_that_tells_nothing_is_asked_about() -> None:
    assert list(learn({}, (), is_local=False).asked) == ["DATABASE_URL"]
    assert learn({}, ["DATABASE_URL"], is_local=False) == Learned({}, {})


@pytest.mark.parametrize(("address", "home"), [
    ("redis://127.0.0.1:6379/0", True), ("unix:///run/valkey.sock", True), ("redis://board.example/0", False),
    ("a model, no address", False),
])  # fmt: skip
def test_an_address_of_the_own_host_is_known(address: str, home: bool) -> None:
    assert leads_home(address) is home
