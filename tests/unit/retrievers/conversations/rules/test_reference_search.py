"""All references at once are those that comparing all pairs gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.conversations.rules import reference_search
from querymill_workers.retrievers.conversations.rules.reference_search import ReferenceSearch
from tests.fixtures.conversations import all_pairs, memory_store
from tests.fixtures.conversations import draft as prepared

sessions = st.lists(
    st.tuples(st.integers(0, 6), st.frozensets(st.integers(0, 13), max_size=10), st.booleans()), max_size=14
)


@given(some=sessions, block=st.sampled_from([3, 1_000]), parts=st.integers(1, 3))
def test_searching_all_at_once_finds_what_comparing_all_pairs_finds(
    some: list[tuple[int, frozenset[int], bool]], block: int, parts: int
) -> None:
    store = memory_store()
    drafts = [prepared(f"s{n}", day=day, phrases=has, explicit=said) for n, (day, has, said) in enumerate(some)]
    for one in drafts:
        store.put("c", one)
    table = store.ranks.table("c")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(reference_search, "BLOCK", block)
        search = ReferenceSearch(table)
        found = [search.find(table.part(part, parts=parts)) for part in range(parts)]
    assert {edge for part in found for edge in part.references(table)} == all_pairs(one.facts for one in drafts)
