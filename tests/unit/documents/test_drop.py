"""Dropping documents, in memory."""

import json
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.board import ValkeyBoard, Verdict
from querymill_shared.contracts.documents import DropDocuments, DropResult, ListDocuments
from querymill_shared.contracts.errors import IdempotencyConflict, UnknownJob
from querymill_shared.contracts.events import Progress
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.files.ingest import CompareFiles, IngestFiles, SourceFile
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.messages.ingest import IngestMessages
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.sessions import ChatSession
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_shared.contracts.vectors import EmbedDocuments, Reembed
from querymill_shared.queues import Queue
from querymill_workers.documents import drop
from querymill_workers.documents.affected_jobs import Forgotten
from querymill_workers.documents.ports import read_entry
from querymill_workers.jobs.bell import Bell
from querymill_workers.retrievers.files.entry import entry_of
from querymill_workers.versions.ports import Version, WrittenDocument
from tests.fakes.documents import KeptBody
from tests.fixtures.boards import new_board
from tests.fixtures.world import World

FILE_A, FILE_B = (SourceFile(path=path, content="x") for path in ("a.py", "b.py"))
IDS = [f"d{number}" for number in range(5)]


@pytest.fixture
def kept(world: World) -> KeptBody:
    documents = KeptBody()
    documents.put("c", **{each: {"even": number % 2 == 0} for number, each in enumerate(IDS)})
    documents.put("other", d0={"even": True})
    world.with_ports(documents={"messages": documents.documents}, bodies={"messages": documents})
    return documents


def request_of(**fields: Any) -> DropDocuments:
    return DropDocuments(collection="c", retriever="messages", **fields)


def dropped(world: World, **fields: Any) -> DropResult:
    found = world.result(world.run(request_of(**fields)))
    assert isinstance(found, DropResult)
    return found


@pytest.mark.parametrize(
    ("fields", "left"),
    [
        ({"ids": ["d1", "d9"]}, {"d0", "d2", "d3", "d4"}),
        ({"filter": {"even": True}}, {"d1", "d3"}),
        ({"ids": ["d1", "d2"], "filter": {"even": True}}, {"d0", "d1", "d3", "d4"}),
        ({"everything": True}, set()),
    ],
    ids=["ids", "filter", "both", "everything"],
)
def test_what_is_meant_is_dropped(
    world: World, kept: KeptBody, fields: Mapping[str, Any], left: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drop, "BATCH", 2)
    world.board.add_collections("messages", ["c", "other"])
    found = dropped(world, **fields)
    assert set(kept.stored["c"]) == left
    assert (found.total, found.outcome) == (5 - len(left), "forgotten")
    assert set(kept.stored["other"]) == {"d0"}
    assert kept.left == (["c"] if "everything" in fields else [])
    assert world.board.collections("messages") == ({"other"} if "everything" in fields else {"c", "other"})


def test_nobody_writes_while_a_collection_is_left(world: World, kept: KeptBody) -> None:
    """What is stored between the look whether a document is there and the end would lose what else there is."""
    written: list[bool] = []
    drop_remains = kept.drop_remains

    def look_around(collection: str) -> None:
        assert not kept.stored[collection]
        writer.submit(lambda: written.append(is_newest(world, "d9", LATE)))
        for _ in range(50):
            sum(range(20_000))  # time for the other thread
        assert not written
        drop_remains(collection)

    kept.drop_remains = look_around  # type: ignore[method-assign]
    with ThreadPoolExecutor(1) as writer:
        dropped(world, everything=True)
    assert (written, kept.left) == ([True], ["c"])


def test_dropping_what_is_not_there_says_so(world: World, kept: KeptBody) -> None:
    found = dropped(world, ids=["d9"])
    assert (found.total, found.outcome) == (0, "absent")


def test_a_drop_tells_how_far_it_is(world: World, kept: KeptBody, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drop, "BATCH", 2)
    job_id = world.run(request_of(everything=True))
    told = [(event.done, event.total) for _, event in world.board.events(job_id) if isinstance(event, Progress)]
    assert told == [(2, 5), (4, 5), (5, 5)]


def test_an_interrupted_drop_goes_on_and_counts_all(
    world: World, kept: KeptBody, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drop, "BATCH", 2)
    honest = kept.drop

    def dies_at_d3(collection: str, document: str, _version: Version) -> int:
        if document == "d3":
            kept.drop = honest  # type: ignore[method-assign]
            raise RuntimeError
        return honest(collection, document, _version)

    kept.drop = dies_at_d3  # type: ignore[method-assign]
    request = request_of(filter={"even": [True, False]})
    job_id = world.run(request)
    assert set(kept.stored["c"]) == {"d3", "d4"}
    world.ring(job_id, request, "drop")
    found = world.result(job_id)
    assert isinstance(found, DropResult)
    assert kept.stored["c"] == {}
    assert found.total == 4, "the one dropped after the last report is not counted"


@pytest.mark.parametrize("fields", [{}, {"everything": True, "ids": ["a"]}, {"everything": True, "filter": {"a": 1}}])
def test_a_drop_says_what_it_means(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match="name documents by ids or a filter, or everything"):
        DropDocuments.model_validate({"collection": "c", "retriever": "messages"} | fields)


LATE, EARLY = Version(2**60, "f"), Version(1, "0")


def is_newest(world: World, document: str, version: Version, **metadata: Any) -> bool:
    subject = WrittenDocument(document, metadata=metadata)
    with world.ports.versions.changing("c", "messages", [subject], version) as standings:
        return standings[document].newest


@pytest.mark.parametrize(
    "fields", [{"ids": ["d0"]}, {"filter": {"even": True}}, {"everything": True}], ids=["id", "filter", "everything"]
)
def test_what_was_accepted_before_stays_forgotten_and_what_comes_later_stays(
    world: World, kept: KeptBody, fields: Mapping[str, Any]
) -> None:
    assert is_newest(world, "d2", LATE, even=True)
    dropped(world, **fields)
    assert not is_newest(world, "d0", EARLY, even=True)
    assert is_newest(world, "d0", LATE, even=True)
    assert "d2" in kept.stored["c"], "it was written after the drop was accepted"
    assert "d0" not in kept.stored["c"]


def session(session_id: str, user_name: str | None = None) -> IngestMessages:
    written = {"session_id": session_id, "started_at": "2026-01-01", "messages": [{"text": "hi"}]}
    return IngestMessages(collection="c", documents=(ChatSession.model_validate(written | {"user_name": user_name}),))


SEARCH = MessageSearch(collection="c", query="what did Ada say?")


@pytest.fixture
def board(world: World, monkeypatch: pytest.MonkeyPatch) -> ValkeyBoard:
    """A board whose jobs ended long ago."""
    monkeypatch.setattr("querymill_shared.board.erasure.READABLE_MS", 0)
    monkeypatch.setattr("querymill_shared.board.calls.READABLE_MS", 1)
    board = new_board()
    world.board = board
    world.with_ports(board=board)
    return board


def ended(board: ValkeyBoard, request: JobRequest, state: Any, result: str = "{}") -> str:
    job_id, _ = board.submit(request)
    board.settle(job_id, Verdict(state, result=result if state == "done" else ""))
    return job_id


def found(*sessions: str) -> str:
    """The result of a search that names sessions."""
    return json.dumps({"results": [{"session_id": session_id, "content": "words of it"} for session_id in sessions]})


def written(session_id: str) -> str:
    """The result of a write."""
    return json.dumps({"documents": [{"document": session_id, "outcome": "ingested", "total": 3}]})


def there(board: ValkeyBoard, job_id: str) -> bool:
    try:
        return board.picture(job_id) is not None
    except UnknownJob:
        return False


def test_jobs_that_can_hold_a_text_go_and_writes_of_others_stay(
    world: World, kept: KeptBody, board: ValkeyBoard
) -> None:
    gone = [
        ended(board, SEARCH, "done", found("d0")),
        ended(board, ListDocuments(collection="c", retriever="messages"), "done", '{"documents":[{"id":"d0"}]}'),
        ended(board, session("s1", "Ada"), "dead"),
        ended(board, session("s1", "Ada"), "failed"),
    ]
    stays = [
        ended(board, SEARCH, "done", found("d1", "d00")),
        ended(board, SEARCH, "failed"),
        ended(board, session("s2", "Bob"), "done", written("s2")),
        ended(board, session("d0", "Ada"), "done", written("d0")),
        ended(board, session("s2", "Bob"), "dead"),
        ended(board, session("s2", "Bob"), "cancelled"),
        ended(board, SEARCH.model_copy(update={"collection": "other"}), "done"),
    ]
    kept.put("c", d0={"user_name": "Ada"})
    dropped(world, filter={"user_name": "Ada"})
    assert [there(board, job_id) for job_id in gone] == [False] * 4
    assert [there(board, job_id) for job_id in stays] == [True] * 7


@pytest.mark.parametrize(
    "fields", [{"ids": ["d0"]}, {"filter": {"even": True}}, {"everything": True}], ids=["id", "filter", "everything"]
)
def test_how_a_write_ended_stays_without_what_was_forgotten(
    world: World, kept: KeptBody, board: ValkeyBoard, fields: Mapping[str, Any]
) -> None:
    mine, _ = board.submit(session("d0", "Ada"), SubmitOptions(idempotency_key="mine"))
    board.settle(mine, Verdict("done", result=written("d0")))
    loaded = {"documents": [{"document": "d0", "reason": "d0 is empty"}, {"document": "e1", "reason": "too long"}]}
    many = ended(board, session("d0"), "done", json.dumps(loaded))
    other, _ = board.submit(session("e1"), SubmitOptions(idempotency_key="other"))
    board.settle(other, Verdict("done", result=written("e1")))
    dropped(world, **fields)
    left = [json.loads(board.result(job_id) or "") for job_id in (mine, many, other)]
    is_all = "everything" in fields
    assert left[0] == {"documents": [{"document": "forgotten", "outcome": "ingested", "total": 3}]}
    assert left[1]["documents"][0] == {"document": "forgotten", "reason": ""}
    assert left[1]["documents"][1]["document"] == ("forgotten" if is_all else "e1")
    assert left[2]["documents"][0]["document"] == ("forgotten" if is_all else "e1")
    assert board.picture(mine).asked is None
    # What the first job asked is not known any more, so whoever has its key is led to it.
    assert board.submit(session("d0", "Ada"), SubmitOptions(idempotency_key="mine")) == (mine, False)
    assert board.submit(session("d0", "Bob"), SubmitOptions(idempotency_key="mine")) == (mine, False)
    if not is_all:
        with pytest.raises(IdempotencyConflict):
            board.submit(session("e2"), SubmitOptions(idempotency_key="other"))


def test_a_search_under_way_stays_if_it_finds_nothing_of_what_was_forgotten(
    world: World, kept: KeptBody, board: ValkeyBoard
) -> None:
    without, within = (board.submit(SEARCH.model_copy(update={"limit": limit}))[0] for limit in (1, 2))
    write, _ = board.submit(session("d0"))
    dropped(world, ids=["d0"])
    board.settle(without, Verdict("done", result=found("d1", "d00")))
    board.settle(within, Verdict("done", result=found("d1", "d0")))
    board.settle(write, Verdict("done", result=written("d0")))
    time.sleep(0.01)
    assert [there(board, job_id) for job_id in (without, within, write)] == [True, False, True]
    assert board.result(without) == found("d1", "d00")
    assert json.loads(board.result(write) or "")["documents"][0]["document"] == "forgotten"


def test_a_later_attempt_that_does_not_know_all_ids_lets_no_result_name_them(
    world: World, kept: KeptBody, board: ValkeyBoard
) -> None:
    search = ended(board, SEARCH, "done", found("d0"))
    write = ended(board, session("d0"), "done", written("d0"))
    drop_job, _ = board.submit(request_of(filter={"even": True}))
    claim = board.claim(drop_job, "drop")
    assert claim is not None
    kept.drop("c", "d0", Version(1, "job"))
    board.postpone(claim, delay_s=0, reason="its worker was killed", cause="failure")
    world.answer(Bell(drop_job, "drop", Queue.INGEST))
    assert not there(board, search)
    assert json.loads(board.result(write) or "")["documents"][0]["document"] == "forgotten"


def test_a_drop_by_id_finds_the_writes_of_that_document(world: World, kept: KeptBody, board: ValkeyBoard) -> None:
    mine, other = ended(board, session("d1"), "dead"), ended(board, session("d11"), "dead")
    dropped(world, ids=["d1"])
    assert (there(board, mine), there(board, other)) == (False, True)


def test_with_everything_every_write_of_the_retriever_goes(world: World, kept: KeptBody, board: ValkeyBoard) -> None:
    mine = ended(board, session("d1"), "dead")
    dropped(world, everything=True)
    assert not there(board, mine)


def test_a_job_of_many_documents_keeps_those_of_others(world: World, kept: KeptBody, board: ValkeyBoard) -> None:
    kept.entry_of = lambda line: read_entry(line, SourceFile, entry_of)  # type: ignore[method-assign]
    world.with_ports(documents={"files": kept.documents}, bodies={"files": kept})
    both = IngestFiles(collection="c", documents=(FILE_A, FILE_B))
    dead_letter = ended(board, both, "dead")
    waiting, _ = board.submit(both.model_copy(update={"lane": Lane.NORMAL}))
    alone = ended(board, IngestFiles(collection="c", documents=(FILE_A,)), "dead")
    world.run(DropDocuments(collection="c", retriever="files", filter={"path": {"prefix": "a."}}))
    for job_id in (dead_letter, waiting):
        left = board.picture(job_id).request
        assert isinstance(left, IngestFiles)
        assert left.documents == (FILE_B,)
    assert not there(board, alone)


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        (EmbedDocuments(collection="c", retriever="files", documents=("a.py", "b.py")), {"documents": ("b.py",)}),
        (EmbedDocuments(collection="c", retriever="files", documents=("a.py",)), None),
        (CompareFiles(collection="c", files={"a.py": "0" * 64, "b.py": "1" * 64}), {"files": {"b.py": "1" * 64}}),
        (IngestFiles(collection="c", documents=(FILE_A, FILE_B)), {"documents": (FILE_B,)}),
        (IngestFiles(collection="c", documents=(FILE_A,)), None),
    ],
)
def test_a_request_is_left_without_a_forgotten_file(request_: JobRequest, left: Mapping[str, Any] | None) -> None:
    forgotten = Forgotten("files", {"a.py"}, {})
    assert forgotten.is_in(request_)
    found = forgotten.without(request_)
    assert found == (None if left is None else request_.model_copy(update=left))


@pytest.mark.parametrize(
    "request_",
    [
        EmbedDocuments(collection="c", retriever="files"),
        EmbedDocuments(collection="c", retriever="files", documents=("b.py", "documents")),
        EmbedDocuments(collection="c", retriever="modules", documents=("a.py",)),
        Reembed(collection="c", retriever="files", model="a.py"),
        Reembed(collection="c", retriever="modules", model="m"),
    ],
)
def test_embedding_goes_with_forgotten_documents_of_its_retriever_alone(request_: EmbedDocuments | Reembed) -> None:
    assert not Forgotten("files", {"a.py", "embed_documents", "files"}, {}).is_in(request_)
    everything = Forgotten("files", set(), {}, everything=True)
    assert everything.is_in(request_) == (request_.retriever == "files")
    assert everything.without(request_) is None


def test_what_waits_goes_on_and_leaves_no_trace(world: World, kept: KeptBody, board: ValkeyBoard) -> None:
    waiting = {name: board.submit(session(name, name))[0] for name in ("Ada", "Bob")}
    dropped(world, filter={"user_name": "Ada"})
    for job_id in waiting.values():
        assert not board.has_ended(job_id)
        board.settle(job_id, Verdict("dead", reason="away"))
    time.sleep(0.01)
    assert (there(board, waiting["Ada"]), there(board, waiting["Bob"])) == (False, True)
