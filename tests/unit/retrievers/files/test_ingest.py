from collections import Counter
from typing import Any

import pytest

from querymill_shared.board import Verdict
from querymill_shared.contracts.files.ingest import (
    CompareFiles,
    CompareFilesResult,
    IngestFiles,
    IngestFilesResult,
    SourceFile,
)
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.queues import Queue
from querymill_workers.dispatch import run_step
from querymill_workers.jobs.bell import Bell
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from tests.fakes.jobs import KeepingBoard
from tests.fakes.vectors import vector_of
from tests.fixtures.boards import new_board_of
from tests.fixtures.world import World

SOUP = "class Pot:\n    def stir(self):\n        spoon.turn()\n"
MANY = {f"f{number}.py": f"def f{number}(): pass" for number in range(40)}


def ingest_of(files: dict[str, str], collection: str = "code", *, vectors: bool = False) -> IngestFiles:
    given = tuple(SourceFile(path=path, content=content) for path, content in files.items())
    return IngestFiles(collection=collection, documents=given, vectors=vectors)


def ingest(world: World, files: dict[str, str], *, vectors: bool = False) -> IngestFilesResult:
    result = world.result(world.run(ingest_of(files, vectors=vectors)))
    assert isinstance(result, IngestFilesResult)
    return result


def compare(world: World, files: dict[str, str], *, remove: bool = False, vectors: bool = False) -> CompareFilesResult:
    hashes = {path: SourceFile(path=path, content=content).sha256 for path, content in files.items()}
    result = world.result(world.run(CompareFiles(collection="code", files=hashes, remove=remove, vectors=vectors)))
    assert isinstance(result, CompareFilesResult)
    return result


def pending(world: World) -> int:
    return world.files.vectors.counts("code", model=world.embeddings.model).pending


def outcomes(result: IngestFilesResult) -> dict[str, int]:
    return Counter(document.outcome for document in result.documents)


def embeddings_asked_for(world: World) -> int:
    kinds = [world.board.picture(job_id).record.kind for job_id in world.board.recent(limit=100)]
    return kinds.count("embed_documents")


def test_a_file_is_found_by_words_and_names_and_then_by_vectors(world: World) -> None:
    world.with_ports(parser=TreeSitterParser())
    result = ingest(world, {"src/pot.py": SOUP, "empty.py": ""}, vectors=True)
    assert outcomes(result) == {"ingested": 2}
    assert (result.symbols, result.total, result.pending) == (3, 2, 2)
    assert [hit.id for hit in world.words.search("code", "files", "stir", limit=9)] == ["src/pot.py"]
    assert [hit.id for hit in world.words.search("code", "files", "src pot", limit=9)] == ["src/pot.py"]
    (found,) = world.files.named("code", ["stir"], roles=["definition"], limit=9)
    assert (found.symbol.kind, found.symbol.qualifier) == ("method", "Pot")
    info = world.files.describe("code", ["src/pot.py"])["src/pot.py"]
    assert (info.language, info.parsed_by, info.lines, info.tokens) == ("python", "tree-sitter", 3, len(SOUP.split()))
    assert pending(world) == 0
    assert sorted(text for text, _ in world.embeddings.asked) == [
        "src/pot.py Pot\nclass Pot:", f"src/pot.py Pot.stir\n{SOUP.partition('class Pot:')[2].strip(chr(10))}",
    ]  # fmt: skip
    assert world.board.collections("files") == {"code"}


def test_lines_of_a_file_are_those_of_its_chunks(world: World) -> None:
    content = "a\f\n\u2028b\r\n"
    ingest(world, {"a.py": content})
    (passage,) = world.files.vectors.pending("code", model="words", limit=9)
    world.files.vectors.fill("code", {passage: vector_of("a")}, model="words")
    (found,) = world.files.nearest("code", vector_of("a"), model="words", limit=9).found
    assert (world.files.describe("code", ["a.py"])["a.py"].lines, found.chunk.end_line) == (2, 2)


def test_fields_we_do_not_know_are_kept_as_metadata(world: World) -> None:
    def licensed(licence: str) -> IngestFiles:
        line = {"path": "a.py", "content": SOUP, "licence": licence}
        return IngestFiles(collection="code", documents=(SourceFile.model_validate(line),))

    for licence, outcome in [("MIT", "ingested"), ("MIT", "unchanged"), ("BSD", "ingested")]:
        result = world.result(world.run(licensed(licence)))
        assert isinstance(result, IngestFilesResult)
        assert result.documents[0].outcome == outcome
        assert world.files.describe("code", ["a.py"])["a.py"].metadata == {"licence": licence}


def test_a_changed_file_embeds_only_the_chunks_that_changed(world: World) -> None:
    world.with_ports(parser=TreeSitterParser())
    parts = [f"def f{n}():\n    '''{'word ' * 300}{n}'''\n" for n in range(3)]
    ingest(world, {"a.py": "".join(parts)}, vectors=True)
    assert len(world.embeddings.asked) == 3
    world.embeddings.asked.clear()
    ingest(world, {"a.py": "".join(["import os\n\n", parts[0], parts[1].replace("word", "soup", 1), parts[2]])})
    assert len(world.embeddings.asked) == 2  # the one that was edited, and the import
    assert pending(world) == 0


def test_comparing_names_what_is_new_or_changed(world: World) -> None:
    files = {"a.py": "1", "b.py": "2"}
    assert compare(world, files).changed == ("a.py", "b.py")
    ingest(world, files)
    assert compare(world, files | {"b.py": "3", "c.py": ""}).changed == ("b.py", "c.py")


def test_comparing_makes_a_stored_code_base_known_to_a_board_that_was_emptied(world: World) -> None:
    files = {path: SourceFile(path=path, content="1").sha256 for path in ("a.py", "b.py")}
    ingest(world, {"a.py": "1"})
    world.with_ports(board=new_board_of(KeepingBoard))
    for collection in ("code", "new"):
        request = CompareFiles(collection=collection, files=files)
        run_step.run_step(Bell(world.ports.board.submit(request)[0], "compare", Queue.INGEST), world.ports)
    assert world.ports.board.collections("files") == {"code"}


def test_files_that_are_gone_are_taken_away_only_when_that_is_asked(world: World) -> None:
    ingest(world, {"a.py": "soup", "b.py": "soup"})
    assert compare(world, {"a.py": "soup"}).removed == ()
    compared = compare(world, {"a.py": "soup"}, remove=True)
    assert (compared.removed, compared.changed, compared.total) == (("b.py",), (), 1)
    assert list(world.ports.documents["files"].revisions("code")) == ["a.py"]
    assert [hit.id for hit in world.words.search("code", "files", "soup", limit=9)] == ["a.py"]


def test_another_parser_makes_every_file_a_changed_one(world: World) -> None:
    ingest(world, {"a.py": SOUP})
    world.with_ports(parser=TreeSitterParser())
    assert compare(world, {"a.py": SOUP}).changed == ("a.py",)


def test_files_count_as_ingested_while_the_embedding_model_is_away(world: World) -> None:
    world.embeddings.fails_with = Unavailable("embedding: no answer in time")
    assert ingest(world, {"a.py": SOUP}, vectors=True).pending == 2
    assert pending(world) == 2
    world.embeddings.fails_with = None
    assert compare(world, {"a.py": SOUP}).pending == 2
    assert pending(world) == 0


def test_another_model_embeds_every_chunk_anew_when_the_code_base_is_compared(world: World) -> None:
    ingest(world, {"a.py": SOUP}, vectors=True)
    world.embeddings.model = "newer"
    compare(world, {"a.py": SOUP})
    assert world.files.vectors.counts("code", model="newer").pending == 0


def test_an_attempt_that_was_cut_is_resumed_where_it_was(world: World) -> None:
    request = ingest_of(MANY, vectors=True)
    job_id = world.submit(request)
    honest = world.files.put
    calls = []

    def once(collection: str, drafts: list[object]) -> None:
        calls.append(len(drafts))
        if len(calls) == 2:
            raise Unavailable("PostgreSQL: OperationalError")
        honest(collection, drafts)  # type: ignore[arg-type]

    world.files.put = once  # type: ignore[method-assign, assignment]
    assert run_step.run_step(Bell(job_id, "ingest", Queue.INGEST), world.ports) == []
    assert len(world.ports.documents["files"].revisions("code")) == 16
    world.ring(job_id, request, "ingest")
    result = world.result(job_id)
    assert isinstance(result, IngestFilesResult)
    assert (outcomes(result), calls) == ({"ingested": 24, "unchanged": 16}, [16, 16, 16, 8])
    assert pending(world) == 0
    assert embeddings_asked_for(world) == 1


def test_a_cancelled_ingestion_stops_between_slices(world: World) -> None:
    request = ingest_of(MANY, vectors=True)
    job_id = world.submit(request)
    honest = world.words.put

    def cancelling(*given: object) -> None:
        world.board.settle(job_id, Verdict("cancelled", reason="by the caller"))
        honest(*given)  # type: ignore[arg-type]

    world.words.put = cancelling  # type: ignore[method-assign, assignment]
    world.ring(job_id, request, "ingest")
    assert len(world.ports.documents["files"].revisions("code")) == 16
    assert world.embeddings.asked == []


def test_the_same_content_accepted_again_is_newer_than_what_lies_between(world: World) -> None:
    ingest(world, {"a.py": "soup"})
    between = ingest_of({"a.py": "tea"})
    late = world.submit(between)
    assert ingest(world, {"a.py": "soup"}).documents[0].outcome == "unchanged"
    world.ring(late, between, "ingest")
    assert world.files.contents("code", ["a.py"]) == {"a.py": "soup"}


def test_a_file_that_a_later_list_has_no_more_does_not_come_back(world: World) -> None:
    ingest(world, {"a.py": "soup", "b.py": "soup"})
    older = ingest_of({"b.py": "old", "never.py": "old", "c.py": "old"})
    late = world.submit(older)
    assert compare(world, {"a.py": "soup", "c.py": "new"}, remove=True).removed == ("b.py",)
    world.ring(late, older, "ingest")
    assert list(world.ports.documents["files"].revisions("code")) == ["a.py"]
    ingest(world, {"c.py": "new", "b.py": "back"})
    assert world.files.contents("code", ["b.py", "c.py"]) == {"b.py": "back", "c.py": "new"}


def test_a_list_that_comes_late_drops_no_file_that_was_ingested_since(world: World) -> None:
    request = CompareFiles(collection="code", files={"a.py": SourceFile(path="a.py", content="x").sha256}, remove=True)
    late = world.submit(request)
    ingest(world, {"b.py": "soup"})
    world.ring(late, request, "compare")
    result = world.result(late)
    assert isinstance(result, CompareFilesResult)
    assert (result.removed, list(world.ports.documents["files"].revisions("code"))) == ((), ["b.py"])


def test_words_are_put_before_a_file_counts_as_ingested(world: World) -> None:
    world.words.fails_with = Unavailable("PostgreSQL: OperationalError")
    request = ingest_of({"a.py": SOUP})
    world.ring(world.submit(request), request, "ingest")
    assert world.ports.documents["files"].revisions("code") == {}


BAD_PATHS = ["/etc/passwd", "../a.py", "a/../../b.py", "a//b.py", "./a.py", "", " ", "a\n.py", "x" * 501, "a/"]


@pytest.mark.parametrize("path", BAD_PATHS)
def test_a_path_that_leaves_the_root_or_cannot_be_stored_is_refused(path: str) -> None:
    with pytest.raises(ValueError, match="path"):
        SourceFile(path=path, content="")


def test_a_file_is_not_too_long() -> None:
    with pytest.raises(ValueError, match="content"):
        SourceFile(path="a.py", content="x" * 1_000_001)


def searched(world: World, **fields: Any) -> FileResult:
    asked = {"query": "stir the soup", "collection": "code", "mode": "oneshot"} | fields
    request = FileSearch.model_validate(asked)
    job_id = world.run(request)
    # One bell stands for all steps of a queue.
    while waiting := [step.name for step in world.board.picture(job_id).steps if not step.is_closed]:
        world.ring(job_id, request, waiting[0])
    result = world.result(job_id)
    assert isinstance(result, FileResult)
    return result


def test_a_filter_chooses_the_files_before_anything_is_cut(world: World) -> None:
    files = [SourceFile.model_validate({"path": f"lib/{n}.py", "content": SOUP, "team": "red"}) for n in range(60)]
    files += [SourceFile.model_validate({"path": "src/z.py", "content": f"{SOUP}{'other ' * 300}", "team": "blue"})]
    world.run(IngestFiles(collection="code", documents=tuple(files), vectors=True))
    for fields in ({}, {"channels": ["words", "vectors"]}, {"globs": ["*.py"]}, {"patterns": ["Pot"]}):
        result = searched(world, filter={"team": "blue"}, **fields)
        assert [(hit.path, hit.metadata) for hit in result.results] == [("src/z.py", {"team": "blue"})]
    assert [hit.path for hit in searched(world, filter={"path": {"prefix": "src/"}}).results] == ["src/z.py"]
    assert searched(world, filter={"language": "cobol"}).results == ()
    unfiltered = searched(world)
    assert "src/z.py" not in {hit.path for hit in unfiltered.results}
    assert unfiltered.results[0].metadata is None


def test_a_file_that_waits_for_its_vector_keeps_a_place_among_those_that_have_one(world: World) -> None:
    ingest(world, {f"f{n}.py": f"stir soup {n}" for n in range(40)}, vectors=True)
    world.embeddings.fails_with = Unavailable("embedding: no answer in time")
    ingest(world, {"new.py": "stir the soup with " + " ".join(f"word{n}" for n in range(40))})
    world.embeddings.fails_with = None
    result = searched(world, channels=["words", "vectors"])
    assert "new.py" in {hit.path for hit in result.results}
    assert [(part.stage, part.reason) for part in result.degraded] == [
        ("embed", "1 chunks of files have no vector yet")
    ]
    assert not result.complete
