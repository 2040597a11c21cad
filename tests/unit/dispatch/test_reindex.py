import threading

import pytest

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.files.ingest import IngestFiles, SourceFile
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_shared.contracts.reindex import IndexedKind, Reindex, ReindexResult
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.messages import ingest
from querymill_workers.retrievers.messages import reindex as rebuild
from querymill_workers.retrievers.modules.rules import fields
from querymill_workers.text.words import WORDS_CHANGES, WORDS_VERSION, words
from querymill_workers.words import asked, memory
from tests.fixtures.chats import session
from tests.fixtures.world import World, example


@pytest.fixture
def bumped(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Call it to change the tokeniser: every word is spelled backwards from then on."""
    return monkeypatch


def bump(patched: pytest.MonkeyPatch) -> None:
    patched.setattr(memory, "WORDS_VERSION", WORDS_VERSION + 1)
    for tokenising in (asked, memory, ingest, rebuild, fields):
        patched.setattr(tokenising, "words", lambda text: [word[::-1] for word in words(text)])


def take_in(world: World, *texts: str, session_id: str = "s") -> None:
    world.result(world.run(IngestMessages(collection="chats", documents=(session(session_id, *texts),))))


def by_words(world: World, query: str, **fields: object) -> MessageResult:
    """Search while no vector can be had."""
    world.embeddings.fails_with = Unavailable("away")
    request = MessageSearch.model_validate({"collection": "chats", "query": query, "ranking": "vectors"} | fields)
    result = world.result(world.run(request))
    world.embeddings.fails_with = None
    assert isinstance(result, MessageResult)
    return result


def reindex(world: World, of: IndexedKind, collection: str) -> ReindexResult:
    result = world.result(world.run(Reindex(collection=collection, of=of)))
    assert isinstance(result, ReindexResult)
    return result


def test_messages_are_found_by_the_words_of_the_new_tokeniser(world: World, bumped: pytest.MonkeyPatch) -> None:
    take_in(world, "nine ships", "soup")
    take_in(world, "a ship", session_id="t")
    bump(bumped)
    assert [part.stage for part in by_words(world, "which ships").degraded] == ["embed", "words"]
    done = reindex(world, "messages", "chats")
    assert (done.outcome, done.total) == ("reindexed", 6)
    assert set(done.previous.values()) == {WORDS_VERSION}
    assert "messages" in done.previous
    assert done.changes == WORDS_CHANGES
    result = by_words(world, "which ships")
    assert [hit.session_id for hit in result.results] == ["t", "s"]
    contexts = by_words(world, "which soup", vector_type="context")
    assert [part.stage for part in contexts.degraded] == ["embed"]
    assert len(contexts.results) == 2
    progress = [event.done for _, event in world.board.events(done.job_id) if isinstance(event, Progress)]
    assert progress == [1, 2]


def test_what_is_ingested_while_the_words_are_stale_is_taken_in_and_found_after(
    world: World, bumped: pytest.MonkeyPatch
) -> None:
    take_in(world, "nine ships", "soup")
    bump(bumped)
    take_in(world, "ten ships", "soup")
    take_in(world, "a heron", session_id="t")
    assert by_words(world, "ten ships").results[0].found_by == ("substring",)
    reindex(world, "messages", "chats")
    assert [hit.content for hit in by_words(world, "ships ten").results] == ["ten ships"]
    assert [hit.session_id for hit in by_words(world, "which heron").results] == ["t"]
    assert by_words(world, "nine").results == ()


def test_a_reindexing_that_was_killed_goes_on(world: World, bumped: pytest.MonkeyPatch) -> None:
    take_in(world, "ships")
    take_in(world, "soup", session_id="t")
    bump(bumped)
    request = Reindex(collection="chats", of="messages")
    job_id, honest = world.submit(request), world.words.refill
    world.words.refill = killed_at_the_third(world)  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "reindex")
    assert not world.board.picture(job_id).record.is_over
    assert world.words.stale("chats", "messages")
    world.words.refill = honest  # type: ignore[method-assign]
    world.ring(job_id, request, "reindex")
    assert [hit.session_id for hit in by_words(world, "which soup").results] == ["t"]


def killed_at_the_third(world: World) -> object:
    honest, calls = world.words.refill, 0

    def refill(*args: object) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:
            raise Unavailable("killed")
        honest(*args)  # type: ignore[arg-type]

    return refill


def test_fresh_words_are_left_alone(world: World) -> None:
    take_in(world, "nine ships")
    assert (reindex(world, "messages", "chats").outcome, reindex(world, "modules", "nowhere").outcome) == ("fresh",) * 2
    assert (reindex(world, "messages", "chats").previous, reindex(world, "messages", "chats").changes) == ({}, "")


def test_code_is_found_by_the_words_of_the_new_tokeniser(world: World, bumped: pytest.MonkeyPatch) -> None:
    world.ingest_code(*[example(number, "vtk.vtkActor", description=f"cone {number}") for number in range(3)])
    bump(bumped)
    world.ingest_code(example(1, "vtk.vtkActor", description="sphere"))
    done = reindex(world, "modules", "code")
    assert (done.outcome, done.total) == ("reindexed", 3)
    request = ModuleSearch(collection="code", query="which cone", channels=("text",))
    result = world.result(world.run(request))
    assert isinstance(result, ModuleResult)
    assert sorted(hit.document for hit in result.results) == [0, 2]


def test_conversations_and_files_are_found_by_the_words_of_the_new_tokeniser(
    world: World, bumped: pytest.MonkeyPatch
) -> None:
    world.result(world.run(IngestConversations(collection="talks", documents=(session("s", "nine ships", "soup"),))))
    world.result(world.run(IngestFiles(collection="tree", documents=(SourceFile(path="a.py", content="ships = 9"),))))
    bump(bumped)
    assert world.words.stale("talks", "conversations")
    assert world.words.stale("tree", "files")
    for kind, collection in (("conversations", "talks"), ("files", "tree")):
        done = world.result(world.run(Reindex.model_validate({"collection": collection, "of": kind})))
        assert isinstance(done, ReindexResult)
        assert (done.outcome, done.total) == ("reindexed", 1)
    assert [hit.id for hit in world.words.search("talks", "conversations", "ships", limit=5)] == ["s"]
    assert [hit.id for hit in world.words.search("tree", "files", "ships", limit=5)] == ["a.py"]


def test_a_conversation_that_is_dropped_while_its_words_are_made_leaves_none(
    world: World, bumped: pytest.MonkeyPatch
) -> None:
    world.result(world.run(IngestConversations(collection="talks", documents=(session("s", "nine ships"),))))
    bump(bumped)
    honest = world.words.refill
    dropping = threading.Thread(
        target=lambda: world.run(DropDocuments(collection="talks", retriever="conversations", ids=("s",))), daemon=True
    )

    def refill(*args: object) -> None:
        dropping.start()
        dropping.join(0.2)
        honest(*args)  # type: ignore[arg-type]

    world.words.refill = refill  # type: ignore[method-assign, assignment]
    reindex(world, "conversations", "talks")
    dropping.join(5)
    assert world.words.search("talks", "conversations", "ships", limit=5) == []
