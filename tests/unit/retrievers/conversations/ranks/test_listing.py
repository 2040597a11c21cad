"""The sessions of the highest ranks are listed."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from querymill_shared.contracts.conversations.ranks import RankList, RankListResult
from querymill_workers.retrievers.conversations.ports.ranks import RankRow
from querymill_workers.retrievers.conversations.stores.memory_ranks import MemoryRanks
from tests.fixtures.conversation_jobs import POOLS, bring_up_to_date, ingest, rebuild
from tests.fixtures.conversations import START
from tests.fixtures.world import World


def test_ranks_are_listed_as_of_a_time_with_parts_that_give_the_rank(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    rebuild(world)
    now = START + timedelta(days=90, minutes=1)
    listed = world.result(world.run(RankList(collection="chats", now=now)))
    assert isinstance(listed, RankListResult)
    first, second = listed.results
    assert (first.session_id, first.references, second.session_id) == ("early", 0.5, "late")
    assert first.recency == pytest.approx(0.367879, abs=1e-6)
    weighed = 0.2 * first.base + 0.2 * first.depth + 0.3 * first.reference + 0.2 * first.quality + 0.1 * first.recency
    assert first.rank == pytest.approx(weighed)


def test_the_list_is_cut_at_its_limit_and_says_how_many_sessions_wait(world: World) -> None:
    for number in range(3):
        ingest(world, f"s{number}", f"text {number}")
    listed = world.result(world.run(RankList(collection="chats", limit=2)))
    assert isinstance(listed, RankListResult)
    assert (listed.total, listed.waiting, [row.session_id for row in listed.results]) == (2, 3, ["s0", "s1"])
    bring_up_to_date(world)
    later = world.result(world.run(RankList(collection="chats")))
    assert isinstance(later, RankListResult)
    assert (later.total, later.waiting) == (3, 0)


class UpdatedBetween(MemoryRanks):
    """Ends an update between any two looks at the ranks, as another worker may."""

    world: World

    def top(self, collection: str, *, now: datetime, limit: int) -> Sequence[RankRow]:
        rows = super().top(collection, now=now, limit=limit)
        bring_up_to_date(self.world)
        return rows


def test_a_list_from_before_an_update_does_not_say_that_no_session_waits(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    ranks = UpdatedBetween(world.conversations)
    ranks.world = world
    world.with_ports(ranks=ranks)
    listed = world.result(world.run(RankList(collection="chats")))
    assert isinstance(listed, RankListResult)
    assert {row.references for row in listed.results} == {0}
    assert listed.waiting == 2
