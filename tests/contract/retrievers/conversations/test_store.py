"""What every store of conversations must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import numpy as np
import pytest

from querymill_shared.contracts.sessions import ChatSession
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.ports.ranks import Underway
from querymill_workers.retrievers.conversations.ports.sessions import info_of
from querymill_workers.retrievers.conversations.rules.rank import RankParts
from querymill_workers.retrievers.conversations.rules.reference_search import ReferenceSearch
from querymill_workers.retrievers.conversations.rules.references import Reference
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from querymill_workers.retrievers.conversations.write.derived import facts_in, prepare_session
from tests.fixtures.conversations import START, VOCABULARY, Store, draft, memory_store, settle


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield memory_store()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield Store(PostgresConversations(pool), PostgresRanks(pool))


def referring(store: Store, collection: str) -> None:
    """Store two sessions, the later of which refers to the earlier."""
    store.put(collection, draft("early", day=0, phrases={1, 2, 3, 4}))
    store.put(collection, draft("late", day=1, phrases={1, 2, 3, 9}))
    settle(store, collection)


def parts(store: Store, collection: str, session_id: str) -> RankParts:
    return store.conversations.sessions(collection, [session_id])[session_id].parts


def test_a_session_comes_back_with_its_messages_and_its_own_parts_at_once(store: Store, collection: str) -> None:
    session = ChatSession.model_validate({
        "session_id": "s", "name": "Pools", "user_name": "Ada", "started_at": "2026-01-01T10:00:00Z", "mood": "ca\0lm",
        "messages": [
            {"message_id": "a", "role": "user", "text": "how does redis work?", "created_at": "2026-01-01T11:00:00Z"},
            {"role": "assistant", "text": "```x```"},
            {"message_id": "c", "role": "user", "text": "谢谢", "created_at": "2026-01-01T10:30:00Z"},
        ],
    })  # fmt: skip
    store.conversations.put(collection, prepare_session(session, VOCABULARY), replacing=None)
    (found,) = store.conversations.sessions(collection, ["s", "nowhere"]).values()
    assert (found.session_id, found.name, found.user_name) == ("s", "Pools", "Ada")
    assert [(message.key, message.role, message.text) for message in found.messages] == [
        ("=a", "user", "how does redis work?"), ("#1", "assistant", "```x```"), ("=c", "user", "谢谢"),
    ]  # fmt: skip
    assert found.messages[1].created_at == found.started_at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert found.last_active == datetime(2026, 1, 1, 11, tzinfo=UTC)
    assert found.parts == RankParts(base=0.06, depth=0.05, reference=0, quality=1.0)
    assert store.conversations.describe(collection, ["s", "nowhere"]) == {"s": info_of(found)}
    stored = store.conversations.stored(collection, "s")
    assert stored is not None
    assert stored.session == session
    assert stored.session.model_extra == {"mood": "ca lm"}


def test_every_change_of_sessions_or_ranks_raises_the_generation(store: Store, collection: str) -> None:
    seen = [store.conversations.generation(collection)]
    for change in (
        lambda: store.put(collection, draft("s", "one")),
        lambda: settle(store, collection),
        lambda: store.put(collection, draft("s", "two")),
        lambda: store.rebuild(collection, "r"),
        lambda: store.conversations.drop(collection, "s"),
        lambda: settle(store, collection),
    ):
        change()
        seen.append(store.conversations.generation(collection))
    assert seen[0] == 0
    assert all(earlier < later for earlier, later in pairwise(seen)), seen


def test_what_changes_nothing_leaves_the_generation(store: Store, collection: str) -> None:
    store.put(collection, draft("s"))
    settle(store, collection)
    before = store.conversations.generation(collection)
    settle(store, collection)
    assert not store.conversations.drop(collection, "nowhere")
    assert store.conversations.generation(collection) == before


def test_a_session_that_somebody_else_changed_is_not_overwritten(store: Store, collection: str) -> None:
    first, second = draft("s", "one"), draft("s", "two")
    store.conversations.put(collection, first, replacing=None)
    for replacing in (None, Revision("older")):
        with pytest.raises(Unavailable, match="has changed since"):
            store.conversations.put(collection, second, replacing=replacing)
    store.conversations.put(collection, second, replacing=first.revision)
    with pytest.raises(Unavailable, match="has changed since"):
        store.conversations.put(collection, first, replacing=first.revision)


def test_references_raise_the_rank_of_the_earlier_session_and_explain_themselves(store: Store, collection: str) -> None:
    referring(store, collection)
    assert store.conversations.references(collection, ["early", "late"]) == {
        "early": [Reference("late", "early", "implicit", 3, 4)], "late": [],
    }  # fmt: skip
    assert parts(store, collection, "early").reference == 0.1
    store.put(collection, draft("late", day=1, phrases={1, 2}, explicit=True))
    settle(store, collection)
    assert parts(store, collection, "early").reference == 0.2
    assert store.conversations.drop(collection, "late")
    settle(store, collection)
    assert parts(store, collection, "early").reference == 0
    assert store.conversations.sessions(collection, ["late"]) == {}


def test_a_collection_sees_only_its_own_sessions_and_references(store: Store, collection: str) -> None:
    other = f"{collection}x"
    store.put(other, draft("early", day=0, phrases={1, 2, 3, 4}))
    store.put(collection, draft("late", day=1, phrases={1, 2, 3, 9}))
    for name in (collection, other):
        settle(store, name)
    assert store.conversations.references(other, ["early"]) == {"early": []}
    assert store.conversations.sessions(collection, ["early"]) == {}
    store.conversations.drop(other, "early")
    assert len(store.ranks.top(collection, now=START, limit=9)) == 1


def test_until_its_last_part_is_there_nothing_of_a_rebuild_is_seen(store: Store, collection: str) -> None:
    referring(store, collection)
    before = store.stored_ranks(collection, ["early", "late"])
    store.ranks.begin(collection, "r", mode="count")
    table = store.ranks.table(collection)
    nothing = ReferenceSearch(table).find(np.zeros(0, np.int64))
    store.ranks.draft(collection, "r", 0, nothing, table)
    assert store.ranks.publish(collection, "r", parts=2) is None
    assert store.stored_ranks(collection, ["early", "late"]) == before
    # A part that comes again, of a worker thought dead, changes nothing.
    assert store.ranks.begin(collection, "r", mode="count") == {0}
    store.ranks.draft(collection, "r", 0, ReferenceSearch(table).find(np.arange(2)), table)
    store.ranks.draft(collection, "r", 1, nothing, table)
    published = store.ranks.publish(collection, "r", parts=2)
    assert published is not None
    assert (published.sessions, published.references) == (2, 0)
    assert store.ranks.publish(collection, "r", parts=2) == published
    assert store.conversations.references(collection, ["early"]) == {"early": []}


def test_what_changes_while_a_rebuild_is_under_way_is_updated_after_it(store: Store, collection: str) -> None:
    store.put(collection, draft("early", day=0, phrases={1, 2, 3, 4}))
    settle(store, collection)
    store.ranks.begin(collection, "r", mode="count")
    table = store.ranks.table(collection)
    store.put(collection, draft("late", day=1, phrases={1, 2, 3, 9}))
    settle(store, collection)
    assert parts(store, collection, "early").reference == 0.1
    store.ranks.draft(collection, "r", 0, ReferenceSearch(table).find(np.arange(1)), table)
    assert store.ranks.publish(collection, "r", parts=1) is not None
    assert store.ranks.waiting(collection) == 1
    settle(store, collection)
    assert parts(store, collection, "early").reference == 0.1


def test_a_rebuild_does_not_begin_while_another_is_under_way(store: Store, collection: str) -> None:
    store.put(collection, draft("s"))
    store.ranks.begin(collection, "older", mode="count")
    with pytest.raises(Underway, match="older"):
        store.ranks.begin(collection, "younger", mode="count", over=["oldest"])
    table = store.ranks.table(collection)
    store.ranks.draft(collection, "older", 0, ReferenceSearch(table).find(np.arange(1)), table)
    assert store.ranks.publish(collection, "older", parts=1) is not None
    assert store.ranks.begin(collection, "younger", mode="count") == set()


def test_of_rebuilds_that_begin_at_once_one_is_under_way(store: Store, collection: str) -> None:
    store.put(collection, draft("s"))

    def begin(number: int) -> str:
        try:
            store.ranks.begin(collection, f"rebuild {number}", mode="count")
        except Underway as other:
            return other.rebuild
        return f"rebuild {number}"

    with ThreadPoolExecutor(8) as workers:
        assert len(set(workers.map(begin, range(8)))) == 1


def test_of_two_rebuilds_the_younger_one_counts(store: Store, collection: str) -> None:
    store.put(collection, draft("s"))
    store.ranks.begin(collection, "older", mode="count")
    table = store.ranks.table(collection)
    store.ranks.begin(collection, "younger", mode="count", over=["older"])
    nothing = ReferenceSearch(table).find(np.zeros(0, np.int64))
    for late in (
        lambda: store.ranks.draft(collection, "older", 0, nothing, table),
        lambda: store.ranks.publish(collection, "older", parts=1),
        lambda: store.ranks.begin(collection, "older", mode="count"),
    ):
        with pytest.raises(Refused, match="another rebuild"):
            late()
    store.ranks.draft(collection, "younger", 0, nothing, table)
    assert store.ranks.publish(collection, "younger", parts=1) is not None


def test_by_page_rank_the_highest_session_is_full_and_updates_keep_to_it(store: Store, collection: str) -> None:
    referring(store, collection)
    store.rebuild(collection, "r", mode="pagerank")
    assert parts(store, collection, "early").reference == 1
    assert parts(store, collection, "late").reference == 0
    # The late one is referred to as well: what it passes on counts for more than what it gets.
    store.put(collection, draft("last", day=2, phrases={1, 2, 3, 9}))
    settle(store, collection)
    assert parts(store, collection, "early").reference == 1
    assert 0 < parts(store, collection, "late").reference < 1
    stored = store.stored_ranks(collection, ["early", "late", "last"])
    store.rebuild(collection, "again", mode="pagerank")
    assert store.stored_ranks(collection, ["early", "late", "last"]) == stored
    store.rebuild(collection, "count", mode="count")
    assert parts(store, collection, "early").reference == 0.2


def test_facts_found_by_other_rules_are_found_anew(store: Store, collection: str) -> None:
    for number in range(5):
        store.put(collection, replace(draft(f"s{number}", "redis, soup and 汤"), facts_version="older"))
    soup = TechnicalKeywords(["soup", "汤"])
    rounds = 0
    while store.ranks.find_facts(collection, "newer", lambda session: facts_in(session, soup), limit=2):
        rounds += 1
    assert rounds == 3
    # What is in force stays as it is until the rebuild that asked for them.
    assert parts(store, collection, "s3").depth == 0.05
    store.rebuild(collection, "r")
    assert parts(store, collection, "s3").depth == 0.1
    before = store.conversations.generation(collection)
    assert not store.ranks.find_facts(collection, "newer", lambda session: facts_in(session, soup), limit=2)
    assert store.conversations.generation(collection) == before


def test_the_highest_ranks_come_first_ties_in_the_order_of_ids(store: Store, collection: str) -> None:
    referring(store, collection)
    store.put(collection, draft("also late", day=1, phrases={7}))
    rows = store.ranks.top(collection, now=START + timedelta(days=1), limit=9)
    assert [row.session_id for row in rows] == ["early", "also late", "late"]
    assert rows[0].references == 0.5
    assert len(store.ranks.top(collection, now=START, limit=2)) == 2


def test_a_fresh_session_comes_before_an_old_one_of_higher_stored_parts(store: Store, collection: str) -> None:
    # Nine messages more are worth 0.2 × 9 / 50 = 0.036, less than a year costs: 0.1 × (1 - exp(-365 / 90)) = 0.098.
    store.put(collection, draft("old", *["text"] * 10, day=0))
    store.put(collection, draft("fresh", "text", day=365))
    assert [row.session_id for row in store.ranks.top(collection, now=START, limit=2)] == ["old", "fresh"]
    later = START + timedelta(days=365)
    assert [row.session_id for row in store.ranks.top(collection, now=later, limit=2)] == ["fresh", "old"]


def test_a_collection_is_due_for_a_rebuild_when_its_last_one_is_old(store: Store, collection: str) -> None:
    store.put(collection, draft("s"))
    now = datetime.now(UTC)
    assert collection not in dict(store.ranks.rebuilt_before(now - timedelta(hours=1)))
    assert dict(store.ranks.rebuilt_before(now + timedelta(hours=1)))[collection] == "count"
