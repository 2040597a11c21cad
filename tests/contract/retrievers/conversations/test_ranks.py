"""What is stored after every change equals a full rebuild, and that equals comparing all pairs."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from tests.fixtures.conversations import Store, draft, expected, memory_store, settle

NAMES = [f"s{number}" for number in range(8)]
phrases = st.frozensets(st.integers(0, 11), max_size=9)


@pytest.fixture(params=["memory", "postgres"])
def store(request: pytest.FixtureRequest) -> Iterator[Store]:
    if request.param == "memory":
        yield memory_store()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield Store(PostgresConversations(pool), PostgresRanks(pool))


class Changes(RuleBasedStateMachine):
    """Sessions are added, edited, moved in time (imported late) and dropped, one or several before an update."""

    store: Store

    @initialize()
    def begin(self) -> None:
        self.collection = f"c{uuid4().hex}"
        self.facts: dict[str, SessionFacts] = {}
        self.rebuilds = 0

    @rule(
        name=st.sampled_from(NAMES),
        day=st.integers(0, 6),
        phrases=phrases,
        explicit=st.booleans(),
        at_once=st.booleans(),
    )
    def put(self, name: str, day: int, phrases: frozenset[int], explicit: bool, at_once: bool) -> None:
        made = draft(name, day=day, phrases=phrases, explicit=explicit)
        self.store.put(self.collection, made)
        self.facts[name] = made.facts
        if at_once:
            settle(self.store, self.collection)

    @rule(name=st.sampled_from(NAMES), at_once=st.booleans())
    def drop(self, name: str, at_once: bool) -> None:
        assert self.store.conversations.drop(self.collection, name) == (name in self.facts)
        self.facts.pop(name, None)
        if at_once:
            settle(self.store, self.collection)

    @rule()
    def rebuild(self) -> None:
        self.rebuilds += 1
        self.store.rebuild(self.collection, f"r{self.rebuilds}")

    @invariant()
    def stored_is_what_all_pairs_give(self) -> None:
        if self.store.ranks.waiting(self.collection) == 0:
            assert self.store.stored_ranks(self.collection, NAMES) == expected(self.facts.values())

    def teardown(self) -> None:
        settle(self.store, self.collection)
        assert self.store.stored_ranks(self.collection, NAMES) == expected(self.facts.values())


def test_whatever_changes_in_whatever_order_what_is_stored_equals_a_full_rebuild(
    store: Store, request: pytest.FixtureRequest
) -> None:
    in_memory = "memory" in request.node.name
    machine = type("Machine", (Changes,), {"store": store})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=80 if in_memory else 12, stateful_step_count=30 if in_memory else 20, deadline=None
        ),
    )
