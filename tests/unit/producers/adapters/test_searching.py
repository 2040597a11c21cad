"""The requests that adapters make, and the clients that they use."""

import asyncio
from typing import get_args

import pytest
from pydantic import ValidationError

from querymill import AsyncQuerymill, ReportSearch, Search
from querymill.adapters.clients import Clients, Place
from querymill.adapters.searching import Searching
from querymill.testing import MemoryMill
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.kinds import SEARCHES

NOWHERE = "redis://127.0.0.1:1/0"


def searching(kind: str, **fields: object) -> Searching:
    return Searching(kind, "c", fields, Clients(place=Place(NOWHERE)), "k")


def test_every_kind_can_be_searched_for_any_number_of_passages() -> None:
    assert set(SEARCHES) == set(get_args(Retriever))
    for kind in SEARCHES:
        for limit in (1, 60):
            request = searching(kind).request("ships?", limit).request
            assert (request.kind, request.collection, request.query) == (kind, "c", "ships?")
            assert limit in (getattr(request, name, None) for name in ("top_n", "limit", "top_k"))


def test_everything_is_searched_in_one_collection_or_in_all() -> None:
    for collection, named in (("c", ("c",)), (None, ())):
        told = Searching("all", collection, {"time_zone": "Europe/Oslo"}, Clients(place=Place(NOWHERE)), "k")
        request = told.request("ships?", 3).request
        assert isinstance(request, Search)
        assert (request.collections, request.top_k, request.metadata) == (named, 3, True)
    with pytest.raises(ValueError, match="collection: name the one to search for reports"):
        Searching("reports", None, {}, Clients(place=Place(NOWHERE)), "k").check(1)


def test_fields_of_a_call_take_the_place_of_those_for_all() -> None:
    told = searching("reports", hyde=True, deadline=3.0, metadata=False)
    request = told.request("ships?", 2, {"deadline": 1.0}).request
    assert isinstance(request, ReportSearch)
    assert (request.hyde, request.deadline, request.metadata) == (True, 1.0, False)


def test_labels_are_given_beside_the_fields() -> None:
    told = searching("reports", hyde=True, labels={"user": "ada"})
    assert told.request("ships?", 2).options.labels == {"user": "ada"}
    asked = told.request("ships?", 2, {"labels": {"session": "42"}, "supersedes": {"session": "42"}})
    assert (asked.options.labels, asked.options.supersedes) == ({"session": "42"}, {"session": "42"})


def test_no_prompt_is_made_that_nobody_reads() -> None:
    assert searching("modules").request("x", 1).request.model_dump()["prompt_tokens"] == 0
    assert searching("files").request("x", 1).request.model_dump()["context_budget"] == 0
    assert searching("modules", prompt_tokens=9).request("x", 1).request.model_dump()["prompt_tokens"] == 9


@pytest.mark.parametrize(
    ("kind", "fields", "said"),
    [
        ("books", {}, "kind: 'books' is not one of: reports, modules, messages, conversations, files"),
        ("reports", {"top_n": 3}, "top_n: has a parameter of its own"),
        ("messages", {"limit": 3, "query": "x"}, "limit, query: has a parameter of its own"),
    ],
)
def test_what_is_said_twice_or_unknown_is_refused(kind: str, fields: dict[str, object], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        searching(kind, **fields).check(3)


@pytest.mark.parametrize(
    ("fields", "named"),
    [({"hide": True}, "hide"), ({"filter": {"published_at": "soon"}}, "published_at"), ({"deadline": -1}, "deadline")],
)
def test_a_mistake_is_named_before_the_first_question(fields: dict[str, object], named: str) -> None:
    with pytest.raises(ValidationError, match=named):
        searching("reports", **fields).check(3)


def test_the_clients_of_a_process_are_shared() -> None:
    assert Clients(place=Place(NOWHERE)).of_threads() is Clients(place=Place(NOWHERE)).of_threads()

    async def of_this_loop() -> tuple[AsyncQuerymill | None, AsyncQuerymill | None]:
        return Clients(place=Place(NOWHERE)).of_loop(), Clients(place=Place(NOWHERE)).of_loop()

    first, second = asyncio.run(of_this_loop())
    assert first is second
    assert asyncio.run(of_this_loop())[0] is not first


def test_a_client_that_was_given_is_the_one_that_is_used() -> None:
    async def loops(clients: Clients) -> AsyncQuerymill | None:
        return clients.of_loop()

    with MemoryMill() as mill:
        assert Clients(client=mill).of_threads() is mill
        assert asyncio.run(loops(Clients(client=mill))) is None
    asynchronous = AsyncQuerymill(redis_url=NOWHERE)
    assert asyncio.run(loops(Clients(async_client=asynchronous))) is asynchronous
    with pytest.raises(ValueError, match="give a Querymill too, or await the call"):
        Clients(async_client=asynchronous).of_threads()
