"""A scope covers what passes its filter, and nothing else."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.filters import RESERVED, Filterable, passes
from querymill_workers.versions.scopes import blind, covers
from tests.fixtures import filters

TEXTS = st.none() | st.sampled_from(filters.TEXTS)
SESSIONS = st.builds(
    Filterable,
    st.fixed_dictionaries(
        {
            "user_name": TEXTS,
            "session_id": st.sampled_from(filters.TEXTS),
            "role": st.lists(TEXTS, max_size=2).map(tuple),
            "time": st.lists(filters.times(), max_size=2).map(tuple),
        }
    ),
    filters.metadata(),
)


@given(SESSIONS, filters.filters(dict(RESERVED["messages"])))
def test_a_scope_is_equal_to_its_filter(document: Filterable, conditions: dict[str, Any]) -> None:
    assert covers(blind(conditions, "messages", "salt"), "d", document) == passes(conditions, document)


def test_equal_filters_have_different_scopes() -> None:
    assert blind({"user_name": "Ada"}, "messages", "a") != blind({"user_name": "Ada"}, "messages", "b")
