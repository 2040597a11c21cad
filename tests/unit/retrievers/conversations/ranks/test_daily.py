"""Rebuilds are submitted once a day."""

from datetime import UTC, datetime, timedelta

from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_workers.retrievers.conversations.ranks.daily import rebuilds_due
from tests.fixtures.conversation_jobs import POOLS, ingest, rebuild
from tests.fixtures.world import World


def test_ranks_are_rebuilt_once_a_day_in_the_mode_they_have(world: World) -> None:
    ingest(world, "early", *POOLS)
    rebuild(world, mode="pagerank")
    assert rebuilds_due(world.ports, datetime.now(UTC)) == []
    tomorrow = datetime.now(UTC) + timedelta(days=1, minutes=1)
    bells = rebuilds_due(world.ports, tomorrow)
    assert [bell.step for bell in bells] == ["part-0", "part-1"]
    asked = world.board.picture(bells[0].job_id).request
    assert asked == RecomputeRanks(collection="chats", mode="pagerank")
    assert rebuilds_due(world.ports, tomorrow) == []
