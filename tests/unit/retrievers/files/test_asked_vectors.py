"""Vectors of a small code base are made unasked, of a larger one if they are asked for, and then for every file."""

from typing import Any

import pytest

from querymill_shared.contracts.documents import DocumentList, DropDocuments, ListDocuments
from querymill_shared.contracts.files.ingest import (
    CompareFiles,
    CompareFilesResult,
    IngestFiles,
    IngestFilesResult,
    SourceFile,
)
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.vectors import EmbedDocuments, Reembed
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.files.embed import EMBEDDABLE, SETTLE_S
from tests.fixtures.world import World

POT, CUP = "def stir_soup(): pass", "def pour_tea(): pass"
BY_VECTORS: dict[str, Any] = {"channels": ["words", "vectors"]}
MADE_BY = "`querymill reembed files --collection code` makes them"


def ingest(world: World, path: str, content: str, *, vectors: bool = False) -> IngestFilesResult:
    file = SourceFile(path=path, content=content)
    result = world.result(world.run(IngestFiles(collection="code", documents=(file,), vectors=vectors)))
    assert isinstance(result, IngestFilesResult)
    return result


def comparison(*, vectors: bool = False) -> CompareFiles:
    hashes = {"pot.py": SourceFile(path="pot.py", content=POT).sha256}
    return CompareFiles(collection="code", files=hashes, vectors=vectors)


def search(world: World, query: str = "stir the soup", **fields: Any) -> FileResult:
    result = world.result(world.run(FileSearch.model_validate({"query": query, "collection": "code", **fields})))
    assert isinstance(result, FileResult)
    return result


def embedded(world: World) -> set[str]:
    """The paths of the files whose chunks were sent to the model."""
    return {text.split()[0] for text, _ in world.embeddings.asked}


def pending_in_list(world: World) -> int:
    listed = world.result(world.run(ListDocuments(collection="code", retriever="files")))
    assert isinstance(listed, DocumentList)
    return sum(card.pending for card in listed.documents)


def test_words_alone_cost_no_call_of_the_model_and_lack_nothing(world: World) -> None:
    assert ingest(world, "pot.py", POT).pending == 0
    compared = world.result(world.run(comparison()))
    assert isinstance(compared, CompareFilesResult)
    assert (compared.changed, compared.pending, pending_in_list(world)) == ((), 0, 0)
    for query in ("stir the soup", "搅拌 stir soup"):
        found = search(world, query)
        assert (found.complete, [hit.path for hit in found.results]) == (True, ["pot.py"])
    assert world.embeddings.asked == []


def test_a_search_by_vectors_that_there_are_not_says_what_makes_them(world: World) -> None:
    ingest(world, "pot.py", POT)
    for channels in (["words", "vectors"], ["vectors"]):
        found = search(world, channels=channels)
        assert not found.complete
        assert any(part.stage == "embed" and MADE_BY in part.reason for part in found.degraded)
    assert [hit.path for hit in search(world, **BY_VECTORS).results] == ["pot.py"]
    assert world.embeddings.asked == []


def test_a_question_in_chinese_that_no_word_answers_says_what_could(world: World) -> None:
    ingest(world, "pot.py", POT)
    found = search(world, "鲸鱼在哪里")
    assert (found.results, found.complete) == ((), False)
    assert any(MADE_BY in part.reason for part in found.degraded)


def settled(world: World) -> None:
    """Let the time pass after which vectors that nobody asked for are begun, and run the jobs that wait."""
    world.let_pass(SETTLE_S)
    request = EmbedDocuments(collection="code", retriever="files")
    for job_id in world.board.recent(limit=100):
        if world.board.picture(job_id).record.kind == "embed_documents":
            world.ring(job_id, request, "embed")


def test_a_small_code_base_gets_vectors_unasked_once_it_has_settled(world: World) -> None:
    ingest(world, "pot.py", POT)
    ingest(world, "cup.py", CUP)
    assert world.embeddings.asked == []
    settled(world)
    assert embedded(world) == {"pot.py", "cup.py"}
    assert search(world, **BY_VECTORS).complete
    ingest(world, "tea.py", "def brew_tea(): pass")
    assert embedded(world) >= {"tea.py"}


def test_a_question_in_chinese_is_compared_by_the_model_in_a_small_code_base(world: World) -> None:
    ingest(world, "pot.py", POT)
    settled(world)
    (hit,) = search(world, "搅拌 stir soup").results
    assert "vectors" in hit.found_by


@pytest.mark.parametrize("files", [1, 2])
def test_a_large_code_base_gets_vectors_only_if_it_is_asked(world: World, files: int) -> None:
    unasked = EMBEDDABLE.unasked
    assert unasked is not None
    pieces = "word\n" * 40 * (unasked // files + 1)
    for number in range(files):
        ingest(world, f"{number}.txt", pieces)
    settled(world)
    assert world.embeddings.asked == []
    assert (pending_in_list(world), search(world, "word").complete) == (0, True)


@pytest.mark.parametrize("asked", [IngestFiles, CompareFiles, Reembed, EmbedDocuments])
def test_vectors_that_are_asked_for_later_are_made_of_every_file(world: World, asked: type[JobRequest]) -> None:
    ingest(world, "pot.py", POT)
    requests: dict[type[JobRequest], JobRequest] = {
        IngestFiles: IngestFiles(collection="code", documents=(SourceFile(path="cup.py", content=CUP),), vectors=True),
        CompareFiles: comparison(vectors=True),
        Reembed: Reembed(collection="code", retriever="files", model=world.embeddings.model),
        EmbedDocuments: EmbedDocuments(collection="code", retriever="files"),
    }
    world.run(requests[asked])
    settled(world)  # a file whose job waits is left to that one
    assert embedded(world) == set(world.ports.documents["files"].revisions("code")) >= {"pot.py"}
    assert search(world, **BY_VECTORS).complete


def test_once_asked_for_vectors_are_made_of_what_comes_and_of_what_changes(world: World) -> None:
    ingest(world, "pot.py", POT, vectors=True)
    for path, content in (("cup.py", CUP), ("pot.py", f"{POT}  # slowly")):
        world.embeddings.asked.clear()
        ingest(world, path, content)
        assert embedded(world) == {path}
    assert world.files.vectors.counts("code", model=world.embeddings.model).pending == 0


def test_what_was_asked_while_the_model_was_away_is_made_later_unasked(world: World) -> None:
    world.embeddings.fails_with = Unavailable("away")
    ingest(world, "pot.py", POT, vectors=True)
    assert pending_in_list(world) == 1
    world.embeddings.fails_with = None
    world.run(comparison())
    assert (embedded(world), pending_in_list(world)) == ({"pot.py"}, 0)


def test_a_second_attempt_of_the_job_that_asked_first_embeds_every_file_as_well(world: World) -> None:
    ingest(world, "pot.py", POT)
    honest = world.words.put

    def away(*_: object) -> None:
        world.words.put = honest  # type: ignore[method-assign]
        raise Unavailable("PostgreSQL: OperationalError")

    world.words.put = away  # type: ignore[method-assign, assignment]
    request = IngestFiles(collection="code", documents=(SourceFile(path="cup.py", content=CUP),), vectors=True)
    job_id = world.run(request)
    world.ring(job_id, request, "ingest")
    assert world.result(job_id).complete
    settled(world)
    assert embedded(world) == {"pot.py", "cup.py"}


def test_a_collection_that_was_dropped_is_asked_anew(world: World) -> None:
    ingest(world, "pot.py", POT, vectors=True)
    world.run(DropDocuments(collection="code", retriever="files", everything=True))
    world.run(EmbedDocuments(collection="code", retriever="files"))  # one that waited all the time
    world.embeddings.asked.clear()
    ingest(world, "pot.py", POT)
    assert world.embeddings.asked == []
