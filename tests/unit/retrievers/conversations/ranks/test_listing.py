"""The sessions of the highest ranks are listed."""

from datetime import timedelta

import pytest

from querymill_shared.contracts.conversations.ranks import RankList, RankListResult
from tests.fixtures.conversation_jobs import POOLS, ingest, rebuild
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
