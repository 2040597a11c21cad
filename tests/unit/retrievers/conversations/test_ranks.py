"""Conversations come in, and their ranks follow: as jobs, in memory."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from pydantic import ValidationError

from querymill_shared.board import Verdict
from querymill_shared.contracts.conversations.ingest import (
    DropConversation,
    IngestConversation,
    IngestConversationResult,
    UpdateConversation,
)
from querymill_shared.contracts.conversations.ranks import RankList, RankListResult, RanksResult, RecomputeRanks
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.queues import Queue
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.prepare import prepare_session
from querymill_workers.retrievers.conversations.ranks.daily import rebuilds_due
from querymill_workers.retrievers.conversations.rules.reference_search import ReferenceSearch
from querymill_workers.retrievers.conversations.rules.text import searchable
from tests.fixtures.conversations import START
from tests.fixtures.world import World

POOLS = ("postgres connectionPool exhausted, pool_timeout raised", "enlarge maxOverflow")
UPDATE = RecomputeRanks(collection="chats", scope="changed", background=True)


def session(session_id: str, *texts: str, day: float = 0) -> ChatSession:
    began = START + timedelta(days=day)
    messages = [
        {"message_id": str(place), "role": "user", "text": text, "created_at": began + timedelta(minutes=place)}
        for place, text in enumerate(texts)
    ]
    return ChatSession.model_validate({"session_id": session_id, "started_at": began, "messages": messages})


def ingest(world: World, *args: object, **fields: object) -> IngestConversationResult:
    request = IngestConversation(collection="chats", session=session(*args, **fields))  # type: ignore[arg-type]
    result = world.result(world.run(request))
    assert isinstance(result, IngestConversationResult)
    return result


def bring_up_to_date(world: World) -> RanksResult:
    result = world.result(world.run(RecomputeRanks(collection="chats", scope="changed")))
    assert isinstance(result, RanksResult)
    return result


def rebuild(world: World, **fields: object) -> RanksResult:
    asked = RecomputeRanks.model_validate({"collection": "chats"} | fields)
    result = world.result(world.run(asked))
    assert isinstance(result, RanksResult)
    return result


def open_updates(world: World) -> list[str]:
    """List the updates that were asked for in the background, and are not over."""
    pictures = [world.board.picture(one) for one in world.board.recent(most=99)]
    return [one.record.job_id for one in pictures if one.request == UPDATE and not one.record.is_over]


def found(world: World, query: str) -> list[str]:
    return [hit.id for hit in world.words.search("chats", SPACE, searchable([query]), most=9)]


def reference(world: World, session_id: str) -> float:
    return world.conversations.sessions("chats", [session_id])[session_id].parts.reference


def test_a_session_is_found_by_its_words_and_the_same_again_changes_nothing(world: World) -> None:
    result = ingest(world, "s", *POOLS)
    assert (result.kind, result.outcome, result.total) == ("ingest_conversations", "ingested", 2)
    assert found(world, "the connection pool") == ["s"]
    before = world.conversations.generation("chats")
    assert ingest(world, "s", *POOLS).outcome == "unchanged"
    assert world.conversations.generation("chats") == before


def test_an_edit_replaces_the_words_and_the_references(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    assert bring_up_to_date(world).total == 2
    assert reference(world, "early") == 0.1
    ingest(world, "late", "tomato soup with basil", day=1)
    bring_up_to_date(world)
    assert reference(world, "early") == 0
    assert found(world, "soup") == ["late"]
    assert found(world, "connection pool") == ["early"]


def test_live_messages_are_added_and_edited_and_counted_once(world: World) -> None:
    told = {"session_id": "s", "messages": [{"message_id": "a", "text": "soup", "created_at": "2026-01-01T10:00:00Z"}]}
    request = UpdateConversation.model_validate({"collection": "chats", "update": told})
    for outcome in ("ingested", "unchanged"):
        result = world.result(world.run(request))
        assert isinstance(result, IngestConversationResult)
        assert (result.kind, result.outcome, result.total) == ("update_conversation", outcome, 1)
    more = {"session_id": "s", "messages": [{"message_id": "b", "text": "ships"}, {"message_id": "a", "text": "tea"}]}
    world.run(UpdateConversation.model_validate({"collection": "chats", "update": more}))
    (known,) = world.conversations.sessions("chats", ["s"]).values()
    assert [message.text for message in known.messages] == ["tea", "ships"]
    assert known.started_at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert (found(world, "soup"), found(world, "ships")) == ([], ["s"])


def test_a_session_is_read_and_changed_while_no_other_writer_changes_it(world: World) -> None:
    alone = []

    def noting(honest: Callable[..., object]) -> Callable[..., object]:
        def noted(*given: object, **more: object) -> object:
            alone.append(world.conversations._changing["chats", "s"].locked())
            return honest(*given, **more)

        return noted

    for store, some in [(world.words, ("put", "drop")), (world.conversations, ("stored", "put", "drop"))]:
        for call in some:
            setattr(store, call, noting(getattr(store, call)))
    told = {"session_id": "s", "messages": [{"message_id": "a", "text": "soup"}]}
    ingest(world, "s", *POOLS)
    world.run(UpdateConversation.model_validate({"collection": "chats", "update": told}))
    world.run(DropConversation(collection="chats", session_id="s"))
    assert alone == [True] * (3 + 3 + 2)


def test_live_messages_of_a_session_that_begins_at_no_time_are_refused(world: World) -> None:
    told = {"session_id": "s", "messages": [{"message_id": "a", "text": "soup"}]}
    job_id = world.run(UpdateConversation.model_validate({"collection": "chats", "update": told}))
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == (
        "failed", "started_at: required, as session 's' is new and its messages have no times",
    )  # fmt: skip


@pytest.mark.parametrize(
    ("messages", "rule"),
    [([{"text": "x"}], "needs a message_id"), ([], "at least 1"),
     ([{"message_id": "a", "text": "x"}, {"message_id": "a", "text": "y"}], "must occur once")],
)  # fmt: skip
def test_a_live_message_that_cannot_be_told_apart_is_refused(messages: list[object], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        UpdateConversation.model_validate({"collection": "c", "update": {"session_id": "s", "messages": messages}})


def test_a_dropped_session_is_not_found_and_refers_to_nothing(world: World) -> None:
    ingest(world, "early", *POOLS)
    ingest(world, "late", *POOLS, day=1)
    bring_up_to_date(world)
    for outcome in ("dropped", "unchanged"):
        result = world.result(world.run(DropConversation(collection="chats", session_id="late")))
        assert isinstance(result, IngestConversationResult)
        assert (result.kind, result.outcome) == ("drop_conversation", outcome)
    assert found(world, "connection pool") == ["early"]
    bring_up_to_date(world)
    assert reference(world, "early") == 0


@pytest.mark.parametrize("stored_by", ["ingestion", "live messages"])
def test_an_attempt_after_one_that_was_killed_once_it_had_stored_does_what_follows(
    world: World, stored_by: str
) -> None:
    told = session("s", *POOLS)
    world.conversations.put("chats", prepare_session(told, world.ports.technical_keywords), replacing=None)
    asked = {"session_id": "s", "messages": [one.model_dump() for one in told.messages]}
    live = UpdateConversation.model_validate({"collection": "chats", "update": asked})
    whole = IngestConversation(collection="chats", session=told)
    world.result(world.run(whole if stored_by == "ingestion" else live))
    assert world.board.collections("conversations") == {"chats"}
    assert len(open_updates(world)) == 1


def test_an_attempt_after_one_that_was_killed_once_it_had_dropped_does_what_follows(world: World) -> None:
    ingest(world, "early", *POOLS)
    bring_up_to_date(world)
    for job_id in open_updates(world):
        world.ring(job_id, UPDATE, "update")
    world.conversations.drop("chats", "early")
    world.run(DropConversation(collection="chats", session_id="early"))
    assert len(open_updates(world)) == 1


def test_the_same_session_again_asks_for_nothing_where_nothing_waits(world: World) -> None:
    ingest(world, "s", *POOLS)
    for job_id in open_updates(world):
        world.ring(job_id, UPDATE, "update")
    assert ingest(world, "s", *POOLS).outcome == "unchanged"
    assert open_updates(world) == []


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
        world.run(DropConversation(collection="chats", session_id="oldest"))
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


def test_a_rebuild_that_another_one_overtook_fails_and_says_so(world: World) -> None:
    ingest(world, "early", *POOLS)
    older = RecomputeRanks(collection="chats", parts=2)
    job_id = world.submit(older)
    world.ring(job_id, older, "part-0")
    rebuild(world, parts=1)
    world.ring(job_id, older, "part-1")
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "another rebuild of 'chats' has begun since")


@pytest.mark.parametrize("request_", [RecomputeRanks(collection="nowhere", parts=1), RankList(collection="nowhere")])
def test_a_collection_without_conversations_is_refused(world: World, request_: RecomputeRanks | RankList) -> None:
    record = world.board.picture(world.run(request_)).record
    assert (record.state, record.reason) == ("failed", "collection: no conversations in 'nowhere'")


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
