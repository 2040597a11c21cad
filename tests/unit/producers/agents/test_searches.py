"""The request that searches a collection for an answer."""

from typing import Any

import pytest

from querymill.agents.searches import MAX_HITS, AskedKind, search_of
from querymill_shared.contracts.expansion import EXPAND_WITHIN_S


def written_beside(kind: AskedKind, expands: bool | None) -> dict[str, Any]:
    search = search_of(kind, "c", "which line?", limit=10, conditions={}, expands=expands)
    return search.model_dump(include={"hyde", "multi_query", "standalone", "expand_within"}, exclude_defaults=True)


@pytest.mark.parametrize("kind", [kind for kind in MAX_HITS if kind != "all"])
def test_a_hypothetical_hit_is_written_soon_or_nothing_is(kind: AskedKind) -> None:
    assert written_beside(kind, True) == {"hyde": True, "expand_within": EXPAND_WITHIN_S}
    assert written_beside(kind, False) == {"standalone": False}
    assert written_beside(kind, None) == {}


def test_a_search_of_everything_asks_no_chat_model_for_each_collection() -> None:
    assert written_beside("all", True) == {}
