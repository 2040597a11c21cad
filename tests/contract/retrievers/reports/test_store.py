"""What every store of reports must do: run on the one in memory and on PostgreSQL."""

from collections.abc import Iterator
from uuid import uuid4

import numpy as np
import psycopg
import pytest

from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.jobs.faults import Unavailable
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.migrate import SchemaMismatch, check, migrate
from querymill_workers.retrievers.reports.ports import Reports
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.retrievers.reports.stores.postgres import PostgresReports
from tests.fakes.vectors import DIMENSIONS, vector_of

FIRST, SECOND = Revision("first"), Revision("second")


@pytest.fixture(params=["memory", "postgres"])
def reports(request: pytest.FixtureRequest) -> Iterator[Reports]:
    if request.param == "memory":
        yield MemoryReports()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
        yield PostgresReports(pool)


@pytest.fixture
def collection() -> str:
    return f"c{uuid4().hex}"


def store(
    reports: Reports, collection: str, sha1: str, *pages: str, revision: Revision = FIRST, model: str = "words"
) -> Report:
    report = _report(sha1, *pages)
    chunks = [Chunk(page=number, number=number - 1, text=text, tokens=1) for number, text in enumerate(pages, start=1)]
    vectors = np.stack([vector_of(text) for text in pages])
    reports.draft(collection, sha1, revision, chunks, vectors)
    reports.publish(collection, report, revision, model=model, chunks=len(chunks))
    return report


def _report(sha1: str, *pages: str) -> Report:
    return Report.model_validate({
        "sha1": sha1,
        "title": f"Report {sha1}",
        "company": "Acme",
        "aliases": ["ACM", "艾克美"],
        "period": "2022",
        "published_at": "2023-03-01",
        "note": "kept",
        "pages": [{"page": number, "text": text} for number, text in enumerate(pages, start=1)],
    })  # fmt: skip


def best(reports: Reports, collection: str, *queries: str, **options: object) -> list[tuple[str, str, int]]:
    cards = [card.sha1 for card in reports.cards(collection, model="words")]
    chosen: dict[str, object] = {"model": "words", "documents": cards, "depth": 1, "per_document": True, "pages": False}
    vectors = {query: vector_of(query) for query in queries}
    found = reports.search(collection, vectors, **(chosen | options))  # type: ignore[arg-type]
    return [(hit.query, hit.document, hit.chunk) for hit in found]


def test_a_published_report_has_a_card(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "ships")
    (card,) = reports.cards(collection, model="words")
    assert (card.sha1, card.company, card.aliases, card.period) == ("a", "Acme", ("ACM", "艾克美"), "2022")
    assert str(card.published_at) == "2023-03-01"


def test_a_draft_is_not_searchable(reports: Reports, collection: str) -> None:
    reports.draft(collection, "a", FIRST, [Chunk(1, 0, "ships", 1)], np.stack([vector_of("ships")]))
    assert reports.cards(collection, model="words") == []
    assert reports.drafted(collection, "a", FIRST) == {0}
    assert reports.revision(collection, "a") is None


def test_drafting_twice_changes_nothing(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "ships", "soup")
    reports.draft(collection, "a", FIRST, [Chunk(9, 0, "other", 1)], np.stack([vector_of("other")]))
    assert best(reports, collection, "ships", depth=5) == [("ships", "a", 0), ("ships", "a", 1)]


def test_each_query_finds_its_best_passages_in_each_document(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships", "tomato soup")
    store(reports, collection, "b", "seven ships", "pea soup")
    found = best(reports, collection, "ships", "soup")
    assert sorted(found) == [("ships", "a", 0), ("ships", "b", 0), ("soup", "a", 1), ("soup", "b", 1)]


@pytest.mark.parametrize("per_document", [True, False])
def test_with_pages_only_the_best_passage_of_each_page_counts(
    reports: Reports, collection: str, per_document: bool
) -> None:
    texts = ["nine ships", "nine ships sail", "tomato soup"]
    chunks = [Chunk(page=min(number, 1), number=number, text=text, tokens=1) for number, text in enumerate(texts, 1)]
    chunks[2] = Chunk(page=2, number=3, text=texts[2], tokens=1)
    store(reports, collection, "a", "x", "y", revision=SECOND)
    reports.draft(collection, "a", FIRST, chunks, np.stack([vector_of(text) for text in texts]))
    reports.publish(collection, _report("a", "x", "y"), FIRST, model="words", chunks=3)
    assert best(reports, collection, "nine ships", depth=2, pages=True, per_document=per_document) == [
        ("nine ships", "a", 1),
        ("nine ships", "a", 3),
    ]


def test_over_all_documents_only_the_best_are_found(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships", "tomato soup")
    store(reports, collection, "b", "cargo", "pea")
    assert best(reports, collection, "nine ships", per_document=False) == [("nine ships", "a", 0)]


def test_the_inner_product_is_the_vectors_own(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships sail")
    (hit,) = reports.search(
        collection,
        {"ships": vector_of("ships")},
        model="words",
        documents=["a"],
        depth=1,
        per_document=True,
        pages=False,
    )
    assert hit.inner_product == pytest.approx(float(vector_of("ships") @ vector_of("nine ships sail")), abs=1e-5)
    assert hit.page == 1


def test_only_the_documents_asked_for_are_searched(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships")
    store(reports, collection, "b", "nine ships")
    assert best(reports, collection, "ships", documents=["b"]) == [("ships", "b", 0)]


def test_no_collection_sees_anothers_reports(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships")
    other = f"{collection}x"
    store(reports, other, "b", "nine ships")
    assert best(reports, collection, "ships", documents=["a", "b"]) == [("ships", "a", 0)]
    assert set(reports.texts(collection, [HitKey("b", "page", 1)])) == set()
    assert reports.revision(collection, "b") is None


def test_reports_of_another_model_are_neither_listed_nor_searched(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships", model="other")
    assert reports.cards(collection, model="words") == []
    assert best(reports, collection, "ships", documents=["a"]) == []


def test_a_new_revision_replaces_the_old_one(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships", "tomato soup")
    store(reports, collection, "a", "seven trains", revision=SECOND)
    assert reports.revision(collection, "a") == SECOND
    assert reports.drafted(collection, "a", FIRST) == set()
    assert best(reports, collection, "soup", depth=5) == [("soup", "a", 0)]
    assert set(reports.texts(collection, [HitKey("a", "page", 2)])) == set()


def test_a_version_that_lost_passages_to_another_is_not_published_with_holes(reports: Reports, collection: str) -> None:
    reports.draft(collection, "a", SECOND, [Chunk(1, 0, "ships", 1)], np.stack([vector_of("ships")]))
    store(reports, collection, "a", "nine ships", "tomato soup")
    reports.draft(collection, "a", SECOND, [Chunk(1, 1, "soup", 1)], np.stack([vector_of("soup")]))
    with pytest.raises(Unavailable, match="another version"):
        reports.publish(collection, _report("a", "ships soup"), SECOND, model="words", chunks=2)
    assert reports.revision(collection, "a") == FIRST


def test_texts_are_fetched_for_pages_and_for_chunks(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "nine ships", "tomato soup")
    page, chunk, gone = HitKey("a", "page", 2), HitKey("a", "chunk", 0), HitKey("z", "page", 1)
    texts = reports.texts(collection, [page, chunk, gone])
    assert {key: (text.page, text.text) for key, text in texts.items()} == {
        page: (2, "tomato soup"),
        chunk: (1, "nine ships"),
    }
    assert texts[page].card.title == "Report a"


def test_cards_are_fresh_at_once(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "ships")
    assert len(reports.cards(collection, model="words")) == 1
    store(reports, collection, "b", "ships")
    assert len(reports.cards(collection, model="words")) == 2


def test_collections_are_listed(reports: Reports, collection: str) -> None:
    store(reports, collection, "a", "ships")
    assert collection in reports.collections()


def test_a_vector_of_a_wrong_dimension_never_reaches_the_table(database_url: str, collection: str) -> None:
    with open_pool(database_url, max_size=1) as pool, pytest.raises(psycopg.errors.DataException):
        PostgresReports(pool).draft(
            collection, "a", FIRST, [Chunk(1, 0, "x", 1)], np.ones((1, DIMENSIONS + 1), np.float32)
        )


def test_not_a_number_never_reaches_the_table(database_url: str, collection: str) -> None:
    with open_pool(database_url, max_size=1) as pool, pytest.raises(psycopg.errors.DataException):
        PostgresReports(pool).draft(
            collection, "a", FIRST, [Chunk(1, 0, "x", 1)], np.full((1, DIMENSIONS), np.nan, np.float32)
        )


def test_a_database_that_is_away_is_unavailable() -> None:
    with open_pool("postgresql://127.0.0.1:1/none", max_size=1, timeout_s=0.3) as pool, pytest.raises(Unavailable):
        PostgresReports(pool).cards("c", model="words")


def test_migrating_twice_applies_nothing(database_url: str) -> None:
    assert migrate(database_url, dimensions=DIMENSIONS) == []


def test_a_model_of_another_dimension_is_refused(database_url: str) -> None:
    with pytest.raises(SchemaMismatch, match="1536 dimensions, the tables were made for 384"):
        check(database_url, dimensions=1536)


def test_a_table_added_later_is_not_made_for_another_dimension(database_url: str, database: psycopg.Connection) -> None:
    database.execute("CREATE DATABASE upgraded")
    url = f"{database_url.rsplit('/', 1)[0]}/upgraded"
    migrate(url, dimensions=DIMENSIONS)
    with psycopg.connect(url) as upgraded:
        upgraded.execute("DROP TABLE text_vectors")
        upgraded.execute("DELETE FROM schema_migrations WHERE number = 2")
    with pytest.raises(SchemaMismatch, match="1536 dimensions, the tables were made for 384"):
        migrate(url, dimensions=1536)
    assert migrate(url, dimensions=DIMENSIONS) == ["0002_text_vectors.sql"]


def test_each_branch_searches_by_the_primary_key(database_url: str, collection: str) -> None:
    with open_pool(database_url, max_size=1) as pool:
        store(PostgresReports(pool), collection, "a", "ships")
        statement = "EXPLAIN SELECT 1 FROM report_passages WHERE collection = 'c' AND sha1 = 'a' AND revision = 'r'"
        with pool.connection() as connection:
            connection.execute("SET enable_seqscan = off")
            plan = "\n".join(row[0] for row in connection.execute(statement))
    assert "report_passages_pkey" in plan
