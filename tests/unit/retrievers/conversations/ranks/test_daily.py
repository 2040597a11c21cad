"""Rebuilds are submitted once a day."""

from datetime import UTC, datetime, timedelta

from querymill_shared.board import Verdict
from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_workers.retrievers.conversations.ranks.daily import rebuilds_due
from tests.fixtures.conversation_jobs import POOLS, ingest, rebuild, session
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


def test_every_collection_is_rebuilt_by_itself_and_one_without_sessions_is_not(world: World) -> None:
    ingest(world, "early", *POOLS)
    world.run(IngestConversations(collection="others", documents=(session("s", "ships"),)))
    day = datetime.now(UTC) + timedelta(days=1, minutes=1)
    asked = [world.board.picture(bell.job_id).record.collection for bell in rebuilds_due(world.ports, day)]
    assert sorted(asked) == ["chats", "chats", "others", "others"]


def test_the_next_day_asks_again_unless_the_rebuild_still_runs(world: World) -> None:
    ingest(world, "early", *POOLS)
    one, two, three = (datetime.now(UTC) + timedelta(days=number, minutes=1) for number in (1, 2, 3))
    first = rebuilds_due(world.ports, one)
    assert len(first) == 2
    assert rebuilds_due(world.ports, one) == rebuilds_due(world.ports, two) == []
    world.board.settle(first[0].job_id, Verdict("failed", reason="no"))
    assert len(rebuilds_due(world.ports, three)) == 2
