"""Ranks are updated and rebuilt: as jobs, in memory."""

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.conversations.ranks import RankList, RanksResult, RecomputeRanks
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.queues import Queue
from querymill_workers.retrievers.conversations.rules.reference_search import ReferenceSearch
from tests.fixtures.conversation_jobs import POOLS, UPDATE, bring_up_to_date, ingest, open_updates, rebuild, reference
from tests.fixtures.world import World


def test_however_many_sessions_come_in_one_update_waits(world: World) -> None:
    for number in range(5):
        ingest(world, f"s{number}", f"text {number}")
    waiting = [one for one in world.board.recent() if world.board.picture(one).record.kind == "recompute_ranks"]
    assert len(waiting) == 1
    (job_id,) = waiting
    asked = world.board.picture(job_id).request
    assert asked == UPDATE
    assert asked.queue_of("update") is Queue.RANKS
    # Its first ring put it off; the next does the work, and the next change asks for another.
    world.ring(job_id, asked, "update")
    assert world.ranks.waiting("chats") == 0
    ingest(world, "s9", "text 9")
    waiting = [one for one in world.board.recent() if world.board.picture(one).record.kind == "recompute_ranks"]
    assert len(waiting) == 2


def test_after_updates_that_failed_the_next_change_asks_for_another_and_so_does_a_later_one(world: World) -> None:
    now = 0.0
    world.with_ports(clock=lambda: now)
    for number in range(3):
        ingest(world, f"s{number}", f"text {number}")
        (failing,) = open_updates(world)
        world.board.settle(failing, Verdict("failed", reason="PostgreSQL: QueryCanceled"))
    for number in range(3, 8):
        ingest(world, f"s{number}", f"text {number}")
    (fourth,) = open_updates(world)
    world.board.settle(fourth, Verdict("failed", reason="PostgreSQL: QueryCanceled"))
    ingest(world, "s8", "text 8")
    assert open_updates(world) == []
    now = 60.0
    ingest(world, "s9", "text 9")
    (fifth,) = open_updates(world)
    world.ring(fifth, UPDATE, "update")
    assert world.ranks.waiting("chats") == 0


def test_a_rebuild_is_put_in_force_by_whoever_brings_the_last_part(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    result = rebuild(world, parts=3)
    assert (result.total, result.references, result.version) == (2, 1, 1)
    assert reference(world, "early") == 0.1
    assert world.ranks.waiting("chats") == 0
    assert rebuild(world, parts=1).version == 2


def test_a_rebuild_that_was_killed_goes_on_where_it_was(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    asked = RecomputeRanks(collection="chats", parts=2)
    job_id = world.submit(asked)
    world.ring(job_id, asked, "part-0")
    # part-1 is claimed by a worker that stores its part and dies before it closes the step.
    world.ranks.begin("chats", job_id, mode="count")
    assert reference(world, "early") == 0
    world.ring(job_id, asked, "part-1")
    assert isinstance(world.result(job_id), RanksResult)
    assert reference(world, "early") == 0.1


@pytest.mark.parametrize("older", ["imported", "dropped"])
def test_an_older_session_that_comes_or_goes_between_two_parts_costs_no_reference_of_others(
    world: World, older: str
) -> None:
    for number in range(8):
        ingest(world, f"early {number}", f"alpha{number} beta{number} gamma{number} delta{number}", day=1 + number)
        ingest(world, f"late {number}", f"alpha{number} beta{number} gamma{number} delta{number}", day=20 + number)
    if older == "dropped":
        ingest(world, "oldest", "tomato soup with basil")
    asked = RecomputeRanks(collection="chats", parts=2)
    job_id = world.submit(asked)
    world.ring(job_id, asked, "part-0")
    if older == "dropped":
        world.run(DropDocuments(collection="chats", retriever="conversations", ids=("oldest",)))
    else:
        ingest(world, "oldest", "tomato soup with basil")
    world.ring(job_id, asked, "part-1")
    bring_up_to_date(world)
    assert [reference(world, f"early {number}") for number in range(8)] == [0.1] * 8


def test_what_changed_since_a_rebuild_began_is_updated_again_after_it_is_published(world: World) -> None:
    ingest(world, "early", *POOLS)
    asked = RecomputeRanks(collection="chats", parts=1)
    job_id = world.submit(asked)
    world.ranks.begin("chats", job_id, mode="count")
    table = world.ranks.table("chats")
    world.ranks.draft("chats", job_id, 0, ReferenceSearch(table).find(table.part(0, parts=1)), table)
    # The part is there; before its worker publishes it a session comes in, and is brought up to date.
    ingest(world, "late", *POOLS, day=1)
    (updating,) = open_updates(world)
    world.ring(updating, UPDATE, "update")
    assert (reference(world, "early"), open_updates(world)) == (0.1, [])
    world.ring(job_id, asked, "part-0")
    assert (reference(world, "early"), world.ranks.waiting("chats")) == (0, 1)
    (updating,) = open_updates(world)
    world.ring(updating, UPDATE, "update")
    assert (reference(world, "early"), world.ranks.waiting("chats"), open_updates(world)) == (0.1, 0, [])


def version_of(world: World, job_id: str) -> int | None:
    result = world.result(job_id)
    assert isinstance(result, RanksResult)
    return result.version


def test_a_rebuild_waits_for_another_and_both_are_published(world: World) -> None:
    ingest(world, "early", *POOLS)
    older = RecomputeRanks(collection="chats", parts=2)
    younger = RecomputeRanks(collection="chats", parts=1, mode="pagerank")
    first = world.submit(older)
    world.ring(first, older, "part-0")
    second = world.submit(younger)
    world.ring(second, younger, "part-0")
    (part,) = world.board.picture(second).steps
    assert (part.state, part.reason) == ("waiting", "waiting for another rebuild")
    world.ring(first, older, "part-1")
    assert version_of(world, first) == 1
    world.ring(second, younger, "part-0")
    assert version_of(world, second) == 2


def test_a_rebuild_does_not_wait_for_one_that_was_cancelled(world: World) -> None:
    ingest(world, "early", *POOLS)
    older = RecomputeRanks(collection="chats", parts=2)
    job_id = world.submit(older)
    world.ring(job_id, older, "part-0")
    world.board.settle(job_id, Verdict("cancelled"))
    assert rebuild(world, parts=1).version == 1


def test_a_rebuild_that_another_overtook_fails_and_says_so(world: World) -> None:
    ingest(world, "early", *POOLS)
    older = RecomputeRanks(collection="chats", parts=2)
    job_id = world.submit(older)
    world.ring(job_id, older, "part-0")
    world.ranks.begin("chats", "another", mode="count", over=[job_id])
    world.ring(job_id, older, "part-1")
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "another rebuild of 'chats' has begun since")


@pytest.mark.parametrize("request_", [RecomputeRanks(collection="nowhere", parts=1), RankList(collection="nowhere")])
def test_a_collection_without_conversations_is_refused(world: World, request_: RecomputeRanks | RankList) -> None:
    record = world.board.picture(world.run(request_)).record
    assert (record.state, record.reason) == ("failed", "collection: no conversations in 'nowhere'")
