"""What every store of code must do: run on the one in memory and on PostgreSQL."""

import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from querymill_shared.counters import FleetCounters
from querymill_workers.jobs.faults import Refused
from querymill_workers.jobs.revisions import ContentHash
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.files.ports import (
    FileCounts,
    FileInfo,
    Files,
    FileSymbol,
    KeyedChunk,
    PatternHit,
    PreparedFile,
)
from querymill_workers.retrievers.files.rules.code import CodeChunk, Symbol
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.files.stores.postgres import VECTORS, PostgresFiles
from querymill_workers.vectors.ports import Vectors
from querymill_workers.vectors.postgres import PostgresVectors
from tests.fakes.vectors import DIMENSIONS, vector_of
from tests.fixtures.passages import text_of

MODEL = "words"


@pytest.fixture(params=["memory", "postgres"])
def stores(request: pytest.FixtureRequest) -> Iterator[tuple[Files, Vectors]]:
    if request.param == "memory":
        files = MemoryFiles()
        yield files, files.vectors
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield PostgresFiles(pool), PostgresVectors(pool, "files", VECTORS, FleetCounters(None))


@pytest.fixture
def files(stores: tuple[Files, Vectors]) -> Files:
    return stores[0]


@pytest.fixture
def vectors(stores: tuple[Files, Vectors]) -> Vectors:
    return stores[1]


def draft(path: str, content: str = "", *symbols: Symbol) -> PreparedFile:
    """Draft a file whose lines are its chunks."""
    lines = content.split("\n") if content else []
    chunks = [
        KeyedChunk(ContentHash(f"{line}#{lines[:n].count(line)}"), CodeChunk(n, n + 1, n + 1, line, f"part {n}"))
        for n, line in enumerate(lines)
    ]
    info = FileInfo(path, "python", len(content.encode()), len(lines), len(content), "words")
    return PreparedFile(info, content, symbols, chunks)


def defined(name: str, line: int = 1, qualifier: str = "") -> Symbol:
    return Symbol(name, "definition", "function", line, line + 3, qualifier)


def called(name: str, line: int = 1, times: int = 1) -> Symbol:
    return Symbol(name, "call", "call", line, line, times=times)


def embed(vectors: Vectors, collection: str) -> None:
    pending = vectors.pending(collection, model=MODEL, limit=1_000)
    vectors.fill(collection, {passage: vector_of(text_of(passage)) for passage in pending}, model=MODEL)


def test_a_file_comes_back_as_it_was_stored(files: Files, collection: str) -> None:
    stored = draft("a/b.py", "soup()\n船 and 渲染\n", defined("soup"), called("船"))
    stored = replace(stored, info=replace(stored.info, metadata={"licence": "MIT", "stars": [1, None]}))
    files.put(collection, [stored, draft("empty.txt")])
    assert files.describe(collection, ["a/b.py", "gone.py"]) == {"a/b.py": stored.info}
    assert files.contents(collection, ["a/b.py", "empty.txt", "gone.py"]) == {"a/b.py": stored.content, "empty.txt": ""}
    symbols = files.symbols(collection, ["a/b.py", "empty.txt"])
    assert {path: set(found) for path, found in symbols.items()} == {
        "a/b.py": {defined("soup"), called("船")},
        "empty.txt": set(),
    }


def test_a_file_stored_again_replaces_what_was_there(files: Files, collection: str) -> None:
    files.put(collection, [draft("a.py", "old\nsame", defined("old"))])
    files.put(collection, [draft("a.py", "new\nsame", defined("new"))])
    assert files.contents(collection, ["a.py"]) == {"a.py": "new\nsame"}
    assert list(files.symbols(collection, ["a.py"])["a.py"]) == [defined("new")]
    assert files.counts(collection) == FileCounts(1, 8)


def test_storing_the_same_twice_changes_nothing(files: Files, collection: str) -> None:
    for _ in range(2):
        files.put(collection, [draft("a.py", "x\ny", defined("x"))])
    assert files.counts(collection) == FileCounts(1, 3)
    assert list(files.symbols(collection, ["a.py"])["a.py"]) == [defined("x")]


def test_a_dropped_file_is_found_no_more(files: Files, vectors: Vectors, collection: str) -> None:
    files.put(collection, [draft("a.py", "soup", defined("soup")), draft("b.py", "soup", called("soup"))])
    embed(vectors, collection)
    files.drop(collection, ["a.py", "never.py"])
    assert files.glob(collection, "*.py", limit=9) == ["b.py"]
    assert files.frequencies(collection, ["soup"]) == {"soup": 1}
    assert [found.path for found in files.nearest(collection, vector_of("soup"), model=MODEL, limit=9).found] == [
        "b.py"
    ]
    assert files.counts(collection) == FileCounts(1, 4)


PATHS = ["setup.py", "src/app.py", "src/web/app.py", "src/web/view.ts", "web/app.py", "文档/说明.md"]
GLOBS = [
    ("app.py", ["src/app.py", "src/web/app.py", "web/app.py"]),
    ("*.py", ["setup.py", "src/app.py", "src/web/app.py", "web/app.py"]),
    ("/*.py", ["setup.py"]),
    ("src/*.py", ["src/app.py"]),
    ("src/**/*.py", ["src/app.py", "src/web/app.py"]),
    ("web/", ["src/web/app.py", "src/web/view.ts", "web/app.py"]),
    ("/web", ["web/app.py"]),
    ("**/web/*.ts", ["src/web/view.ts"]),
    ("a??.py", ["src/app.py", "src/web/app.py", "web/app.py"]),
    ("[sv]*.[pt][ys]", ["setup.py", "src/web/view.ts"]),
    ("文档", ["文档/说明.md"]),
    ("说?.md", ["文档/说明.md"]),
    ("nothing*", []),
]


@pytest.mark.parametrize(("pattern", "paths"), GLOBS)
def test_paths_are_found_by_pattern(files: Files, collection: str, pattern: str, paths: list[str]) -> None:
    files.put(collection, [draft(path) for path in PATHS])
    assert files.glob(collection, pattern, limit=9) == paths


@pytest.mark.parametrize("pattern", ["", " ", "# comment", "!*.py", "x" * 1_001])
def test_what_is_no_path_pattern_is_refused(files: Files, collection: str, pattern: str) -> None:
    with pytest.raises(Refused, match="pattern"):
        files.glob(collection, pattern, limit=9)


def test_contents_are_found_by_expression_with_their_line(files: Files, collection: str) -> None:
    files.put(collection, [draft("a.py", "def soup():\n    def ship(): 船"), draft("b.py", "# DEF"), draft("c.py")])
    files.put(collection, [draft("d.py", "x\n\ndef last(): pass")])
    found = files.matching(collection, r"^ *def (\w+)", limit=9, time_s=5)
    assert found.complete
    assert found.hits == [PatternHit("a.py", 2, 1, "def soup():"), PatternHit("d.py", 1, 3, "def last(): pass")]
    assert [hit.path for hit in files.matching(collection, "(?i)def$", limit=9, time_s=5).hits] == ["b.py"]
    assert [hit.line for hit in files.matching(collection, "船", limit=9, time_s=5).hits] == [2]
    assert len(files.matching(collection, "def", limit=1, time_s=5).hits) == 1


BAD_EXPRESSIONS = [
    ("(a", "missing"),
    (r"(a)\1", "invalid escape"),
    ("a*", "empty text"),
    ("", "characters"),
    ("x" * 1_001, "characters"),
    ("((a{1000}){1000}){1000}", "cannot be read"),
]


@pytest.mark.parametrize(("pattern", "reason"), BAD_EXPRESSIONS)
def test_an_expression_that_must_not_run_is_refused_with_its_reason(
    files: Files, collection: str, pattern: str, reason: str
) -> None:
    with pytest.raises(Refused, match=reason):
        files.matching(collection, pattern, limit=9, time_s=5)


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|aa)+c", "a.*b|a", "(a?){50}a{50}b"])
def test_an_expression_that_would_take_for_ever_elsewhere_returns_in_time(
    files: Files, collection: str, pattern: str
) -> None:
    files.put(collection, [replace(draft("a.js"), content="a" * 1_000_000 + "!")])
    begun = time.monotonic()
    files.matching(collection, pattern, limit=9, time_s=2)
    assert time.monotonic() - begun < 10


def test_a_search_by_expression_that_ran_out_of_time_says_so(files: Files, collection: str) -> None:
    files.put(collection, [draft(f"{number}.py", "soup") for number in range(5)])
    found = files.matching(collection, "soup", limit=9, time_s=-1)
    assert (found.complete, found.hits) == (False, [])


def test_names_are_found_where_they_are_defined_and_used(files: Files, collection: str) -> None:
    files.put(collection, [draft("a.py", "", defined("soup", 3, "Pot"), called("ship", 9, times=4))])
    files.put(collection, [draft("b.py", "", called("soup", 7)), draft("c.py", "", defined("Soup"))])
    assert files.named(collection, ["soup"], roles=["definition"], limit=9) == [
        FileSymbol("a.py", defined("soup", 3, "Pot"))
    ]
    both = files.named(collection, ["soup", "ship"], roles=["definition", "call"], limit=9)
    assert [(found.path, found.symbol.name, found.symbol.role) for found in both] == [
        ("a.py", "soup", "definition"), ("a.py", "ship", "call"), ("b.py", "soup", "call")
    ]  # fmt: skip
    assert files.named(collection, [], roles=["call"], limit=9) == []


def test_at_most_so_many_places_are_listed_of_each_name(files: Files, collection: str) -> None:
    files.put(collection, [draft(f"{n}.py", "", called("soup"), called("ship")) for n in range(4)])
    found = files.named(collection, ["soup", "ship"], roles=["call", "type"], limit=2)
    assert sorted((place.symbol.name, place.path) for place in found) == [
        ("ship", "0.py"), ("ship", "1.py"), ("soup", "0.py"), ("soup", "1.py")
    ]  # fmt: skip


def test_rarity_counts_files_and_not_places(files: Files, collection: str) -> None:
    files.put(collection, [draft("a.py", "", defined("soup"), called("soup", 8, times=5)), draft("b.py", "x")])
    files.put(collection, [draft("c.py", "", called("soup"))])
    assert files.frequencies(collection, ["soup", "never"]) == {"soup": 2, "never": 0}


def test_the_nearest_files_come_first_with_their_nearest_chunk(files: Files, vectors: Vectors, collection: str) -> None:
    files.put(collection, [draft("a.py", "nine ships\nhot soup"), draft("b.py", "hot soup of ships"), draft("c.py")])
    embed(vectors, collection)
    first, second = files.nearest(collection, vector_of("hot soup"), model=MODEL, limit=9).found
    assert (first.path, first.chunk) == ("a.py", CodeChunk(1, 2, 2, "hot soup", "part 1"))
    assert first.cosine == pytest.approx(1, abs=1e-5)
    assert second.path == "b.py"
    assert second.cosine < 0.99
    assert len(files.nearest(collection, vector_of("hot soup"), model=MODEL, limit=1).found) == 1
    only = files.nearest(collection, vector_of("hot soup"), model=MODEL, limit=9, paths=["b.py", "never.py"])
    assert [found.path for found in only.found] == ["b.py"]


def test_the_cosine_of_a_zero_vector_is_zero(files: Files, vectors: Vectors, collection: str) -> None:
    files.put(collection, [draft("a.py", "soup")])
    embed(vectors, collection)
    (found,) = files.nearest(collection, np.zeros(DIMENSIONS, np.float32), model=MODEL, limit=9).found
    assert found.cosine == 0


def test_an_unchanged_chunk_keeps_its_vector_wherever_it_moves(files: Files, vectors: Vectors, collection: str) -> None:
    files.put(collection, [draft("a.py", "soup\nships\nsoup")])
    embed(vectors, collection)
    files.put(collection, [draft("a.py", "new\nships\nsoup")])
    (found,) = files.nearest(collection, vector_of("soup"), model=MODEL, limit=9).found
    assert (found.chunk.number, found.chunk.line) == (2, 3)


def test_no_collection_sees_anothers_files(files: Files, vectors: Vectors, collection: str) -> None:
    other = f"{collection}x"
    files.put(collection, [draft("a.py", "soup", defined("soup"))])
    files.put(other, [draft("a.py", "secret", defined("secret")), draft("b.py", "soup", called("soup"))])
    embed(vectors, other)
    assert files.contents(collection, ["a.py", "b.py"]) == {"a.py": "soup"}
    assert files.glob(collection, "*", limit=9) == ["a.py"]
    assert files.matching(collection, "secret", limit=9, time_s=5).hits == []
    assert files.named(collection, ["secret", "soup"], roles=["definition", "call"], limit=9) == [
        FileSymbol("a.py", defined("soup"))
    ]
    assert files.frequencies(collection, ["secret", "soup"]) == {"secret": 0, "soup": 1}
    assert files.nearest(collection, vector_of("soup"), model=MODEL, limit=9).found == []
    files.drop(collection, ["b.py"])
    assert files.counts(other).files == 2


def test_what_was_not_compared_is_told_with_what_was(files: Files, vectors: Vectors, collection: str) -> None:
    files.put(collection, [draft("a.py", "soup"), draft("b.py", "ships")])
    embed(vectors, collection)
    files.put(collection, [draft("b.py", "ships\nsoup"), draft("c.py", "tea\nsoup")])
    near = files.nearest(collection, vector_of("soup"), model=MODEL, limit=9, beside=["a.py", "b.py", "never.py"])
    assert ([found.path for found in near.found], near.pending, near.waiting) == (
        ["a.py", "b.py"],
        3,
        frozenset({"b.py"}),
    )
    nothing = files.nearest(f"{collection}x", vector_of("soup"), model=MODEL, limit=9)
    assert (list(nothing.found), nothing.pending, nothing.waiting) == ([], 0, frozenset())
