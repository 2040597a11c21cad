"""The caches of one worker: bounded in number and in time, shared by its threads."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from querymill_workers.retrievers.conversations.stores.caches import MemoryCache, conversation_caches


def test_a_value_is_returned_under_its_key_alone() -> None:
    cache = MemoryCache[str](max_size=9, ttl_s=3600)
    cache.put(("talks", 1, "a"), "first")
    assert cache.get(("talks", 1, "a")) == "first"
    for other in [("talks", 2, "a"), ("others", 1, "a"), ("talks", 1, "b")]:
        assert cache.get(other) is None
    cache.put(("talks", 1, "a"), "second")
    assert cache.get(("talks", 1, "a")) == "second"


def test_a_full_cache_evicts_the_value_that_was_not_used_for_longest() -> None:
    cache = MemoryCache[int](max_size=2, ttl_s=3600)
    cache.put(("a",), 1)
    cache.put(("b",), 2)
    assert cache.get(("a",)) == 1
    cache.put(("c",), 3)
    assert [cache.get((name,)) for name in "abc"] == [1, None, 3]


@pytest.mark.parametrize("ttl_s", [0.0, -1.0])
def test_a_value_whose_time_is_over_is_gone(ttl_s: float) -> None:
    cache = MemoryCache[int](max_size=9, ttl_s=ttl_s)
    cache.put(("a",), 1)
    assert cache.get(("a",)) is None


def test_threads_share_a_cache() -> None:
    cache = MemoryCache[int](max_size=50, ttl_s=3600)

    def use(number: int) -> bool:
        for turn in range(200):
            cache.put((number, turn), turn)
            cache.get((number, turn - 1))
        return True

    with ThreadPoolExecutor(8) as threads:
        assert all(threads.map(use, range(8)))
    assert sum(cache.get((number, 199)) == 199 for number in range(8)) > 0


def test_each_worker_has_caches_of_its_own() -> None:
    mine, other = conversation_caches(), conversation_caches()
    assert mine.searches is not other.searches
    assert mine.sessions is not other.sessions
