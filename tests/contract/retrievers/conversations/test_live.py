"""Live messages that are added without reading their session: what is stored is what the whole history gives."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.jobs import JobRequest
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.retrievers.conversations.ports.sessions import SPACE, StoredConversation
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.conversations.write.derived import prepare_history
from querymill_workers.versions.postgres import PostgresVersions
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.conversation_jobs import session
from tests.fixtures.jobs import accepted
from tests.fixtures.passages import passages_in
from tests.fixtures.world import World, world

__all__ = ["world"]

TEXTS = [
    "how do I open a redis pool?",
    "```pool.open()```",
    "thanks, that works",
    "as discussed last time",
    "渲染器 汽车",
]
texts = st.sampled_from(TEXTS) | st.text("ab cd", max_size=6)
updates = st.lists(st.dictionaries(st.sampled_from("abcdefgh"), texts, min_size=1, max_size=3), min_size=1, max_size=6)


@pytest.fixture
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=4) as opened:
        yield opened


@pytest.fixture
def served(world: World, pool: Pool) -> World:
    """Jobs of a board in memory on the real stores."""
    passages, vectors = passages_in(pool)
    world.with_ports(
        vectors={**world.ports.vectors, "conversations": vectors},
        conversations=PostgresConversations(pool), ranks=PostgresRanks(pool), words=PostgresWords(pool),
        versions=PostgresVersions(pool), conversation_passages=passages,
    )  # fmt: skip
    return world


def update_of(collection: str, messages: dict[str, str], **fields: str) -> Extend:
    told = [
        {"message_id": name, "text": text, "role": "user" if name < "e" else "assistant"}
        for name, text in messages.items()
    ]
    told[0]["created_at"] = "2026-01-01T10:00:00Z"
    session = {"session_id": "s", "messages": told, **fields}
    return Extend.model_validate({"collection": collection, "retriever": "conversations", "documents": [session]})


def run_in_order(world: World, requests: list[JobRequest], order: list[int]) -> None:
    """Have requests accepted in their order, and worked in another. Each has a bell more than it needs."""
    jobs = accepted(world, requests)
    for number in order:
        step = requests[number].steps[0]
        for _ in range(2):
            list(run_step.run_step(Bell(jobs[number], step, requests[number].queue_of(step)), world.ports))


def stored(world: World, collection: str) -> StoredConversation:
    known = world.ports.conversations.stored(collection, "s")
    assert known is not None
    return known


# Threads of pools draw from the module `random` in the background, which hypothesis takes for draws of the strategy.
@pytest.mark.filterwarnings("ignore:Do not use the `random` module inside strategies")
@given(updates, st.booleans(), st.data())
@settings(suppress_health_check=list(HealthCheck))
def test_what_is_stored_is_what_the_history_gives(
    served: World, told: list[dict[str, str]], begins_whole: bool, data: st.DataObject
) -> None:
    collection = f"c{uuid4().hex}"
    order = data.draw(st.permutations(range(len(told))))
    if begins_whole:
        served.run(IngestConversations(collection=collection, documents=(session("s", *TEXTS[:2]),)))
    run_in_order(served, [update_of(collection, messages) for messages in told], list(order))
    known = stored(served, collection)
    expected = {"0": TEXTS[0], "1": TEXTS[1]} if begins_whole else {}
    for messages in told:
        expected = expected | messages
    assert [(one.message_id, one.text) for one in known.session.messages] == list(expected.items())
    prepared = prepare_history("s", known.history, served.ports.technical_keywords)
    outline = served.ports.conversations.outlines(collection, ["s"]).get("s")
    assert prepared is not None
    assert outline is not None
    assert (outline.facts, outline.sketch) == (prepared.facts, prepared.sketch)
    (found,) = served.ports.conversations.sessions(collection, ["s"]).values()
    assert found.last_active == prepared.facts.last_active
    for word in ("redis", "渲染"):
        hits = served.ports.words.search(collection, SPACE, word, limit=5)
        assert bool(hits) == any(word in text for text in expected.values())
