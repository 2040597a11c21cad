"""Rebuilding the text index from the stored sessions."""

from querymill_workers.retrievers.conversations.ports.sessions import SPACE, PreparedConversation
from querymill_workers.retrievers.conversations.write.derived import prepare_session
from querymill_workers.retrievers.conversations.write.reindex import SPACES, reindexed
from tests.fixtures.conversation_jobs import ingest, session
from tests.fixtures.world import World


def test_every_session_is_indexed_and_counted(world: World) -> None:
    for number in range(3):
        ingest(world, f"s{number}", f"ships {number}")
    world.words.drop_all("chats", SPACE)
    assert list(reindexed("chats", world.ports)) == [(1, 3, 1), (2, 3, 1), (3, 3, 1)]
    assert [hit.id for hit in world.words.search("chats", SPACE, "ships", limit=9)] == ["s0", "s1", "s2"]
    assert SPACES == (SPACE,)


def test_a_collection_without_sessions_has_nothing_to_index(world: World) -> None:
    assert list(reindexed("chats", world.ports)) == []


def test_a_session_that_is_dropped_on_the_way_is_skipped(world: World) -> None:
    for name in ("a", "b"):
        ingest(world, name, "ships")
    world.words.drop_all("chats", SPACE)
    progress = reindexed("chats", world.ports)
    assert next(progress) == (1, 2, 1)
    world.conversations.drop("chats", "b")
    assert list(progress) == [(2, 2, 0)]
    assert [hit.id for hit in world.words.search("chats", SPACE, "ships", limit=9)] == ["a"]


def test_an_entry_that_was_made_since_is_left_as_it_is(world: World) -> None:
    ingest(world, "a", "ships")
    world.conversations.put(
        "chats",
        # No writer changes the text without its entry: if the old entry stays, it was not made again.
        _prepared(world, "soup"),
        replacing=world.conversations.prepared["chats", "a"].revision,
    )
    assert list(reindexed("chats", world.ports)) == [(1, 1, 1)]
    assert [hit.id for hit in world.words.search("chats", SPACE, "ships", limit=9)] == ["a"]


def _prepared(world: World, text: str) -> PreparedConversation:
    return prepare_session(session("a", text), world.ports.technical_keywords)
