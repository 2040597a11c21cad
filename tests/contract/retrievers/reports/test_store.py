"""What every store of reports must do when it is searched: run on the one in memory and on PostgreSQL."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.retrievers.reports.ports import SPACE, UnembeddedReports
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import HitKey
from querymill_workers.words.ports import WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fakes.vectors import vector_of
from tests.fixtures.plans import plans_of, recorded, rows_read
from tests.fixtures.reports import Stores, best, embed, prepared_report, refuse, store, stores_in
from tests.fixtures.short_forms import crossed


def test_a_published_report_has_a_card(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "ships"))
    (card,) = stores.reports.cards(collection)
    assert (card.sha1, card.company, card.aliases, card.period) == ("a", "Acme", ("ACM", "艾克美"), "2022")
    assert str(card.published_at) == "2023-03-01"


def test_each_query_finds_its_best_passages_in_each_document(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships", "tomato soup"))
    store(stores, collection, prepared_report("b", "seven ships", "pea soup"))
    found = best(stores, collection, "ships", "soup")
    assert sorted(found) == [("ships", "a", 0), ("ships", "b", 0), ("soup", "a", 1), ("soup", "b", 1)]


def test_over_all_documents_only_the_best_are_found(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships", "tomato soup"))
    store(stores, collection, prepared_report("b", "cargo", "pea"))
    assert best(stores, collection, "nine ships", per_document=False) == [("nine ships", "a", 0)]


def test_the_inner_product_is_the_vectors_own(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships sail"))
    (hit,) = stores.reports.search(
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


def test_named_passages_are_measured_with_their_vectors_if_they_have_one(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships sail", "soup"))
    stores.life.put(collection, prepared_report("b", "seven ships"))
    keys = [HitKey("a", "chunk", 0), HitKey("a", "chunk", 9), HitKey("b", "chunk", 0)]
    vectors = {"ships": vector_of("ships"), "soup": vector_of("soup")}
    found = stores.reports.measured(collection, keys, vectors, model="words")
    assert {(key.document, key.number): passage.page for key, passage in found.items()} == {("a", 0): 1, ("b", 0): 1}
    assert found[HitKey("b", "chunk", 0)].inner_products == {}
    own = found[HitKey("a", "chunk", 0)].inner_products
    assert own["ships"] == pytest.approx(float(vector_of("ships") @ vector_of("nine ships sail")), abs=1e-5)
    assert own["ships"] > own["soup"]


def test_tickers_of_the_cover_are_names_of_the_company(stores: Stores, collection: str) -> None:
    store(stores, collection, replace(prepared_report("a", "ships"), tickers=("ACME",)))
    (card,) = stores.reports.cards(collection)
    assert card.aliases == ("ACM", "艾克美", "ACME")
    assert stores.life.whole(collection, ["a"])["a"].aliases == ("ACM", "艾克美")


def test_only_the_documents_asked_for_are_searched(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships"))
    store(stores, collection, prepared_report("b", "nine ships"))
    assert best(stores, collection, "ships", documents=["b"]) == [("ships", "b", 0)]


def test_no_collection_sees_anothers_reports(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships"))
    other = f"{collection}x"
    store(stores, other, prepared_report("b", "nine ships"))
    assert best(stores, collection, "ships", documents=["a", "b"]) == [("ships", "a", 0)]
    assert set(stores.reports.texts(collection, [HitKey("b", "page", 1)])) == set()


def test_vectors_of_another_model_are_not_compared(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships"), model="other")
    assert best(stores, collection, "ships") == []
    assert stores.reports.waiting(collection, ["a"], model="words") == UnembeddedReports(["a"], 1, 0)
    (measured,) = stores.reports.measured(
        collection, [HitKey("a", "chunk", 0)], {"ships": vector_of("ships")}, model="words"
    ).values()
    assert measured.inner_products == {}


def test_texts_are_fetched_for_pages_and_for_chunks(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships", "tomato soup"))
    page, chunk, gone = HitKey("a", "page", 2), HitKey("a", "chunk", 0), HitKey("z", "page", 1)
    texts = stores.reports.texts(collection, [page, chunk, gone])
    assert {key: (text.page, text.text) for key, text in texts.items()} == {
        page: (2, "tomato soup"),
        chunk: (1, "nine ships"),
    }
    assert texts[page].card.title == "Report a"


def test_cards_are_fresh_at_once(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "ships"))
    assert len(stores.reports.cards(collection)) == 1
    store(stores, collection, prepared_report("b", "ships"))
    assert len(stores.reports.cards(collection)) == 2


def test_migrating_twice_applies_nothing(database_url: str) -> None:
    assert migrate(database_url) == []


@pytest.mark.parametrize("per_document", [True, False])
def test_with_pages_only_the_best_passage_of_each_page_counts(
    stores: Stores, collection: str, per_document: bool
) -> None:
    chunks = [Chunk(1, 1, "nine ships", 1), Chunk(1, 2, "nine ships sail", 1), Chunk(2, 3, "tomato soup", 1)]
    store(stores, collection, prepared_report("a", "x", "y", chunks=chunks))
    assert best(stores, collection, "nine ships", depth=2, pages=True, per_document=per_document) == [
        ("nine ships", "a", 1),
        ("nine ships", "a", 3),
    ]


def test_a_new_revision_replaces_the_old_one(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships", "tomato soup"))
    store(stores, collection, prepared_report("a", "seven trains"))
    assert best(stores, collection, "soup", depth=5) == [("soup", "a", 0)]
    assert set(stores.reports.texts(collection, [HitKey("a", "page", 2)])) == set()
    assert stores.life.indexed(collection, "a") == 1


def test_an_unchanged_passage_keeps_its_vector_wherever_it_moves(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", "nine ships", "tomato soup", "nine ships"))
    stores.life.put(collection, prepared_report("a", "pea soup", "nine ships", "tomato soup"))
    assert stores.pending(collection, "a") == ["pea soup"]
    assert best(stores, collection, "nine ships", depth=5)[0] == ("nine ships", "a", 1)
    assert stores.reports.texts(collection, [HitKey("a", "chunk", 1)])[HitKey("a", "chunk", 1)].page == 2
    embed(stores, collection, "a")
    assert len(best(stores, collection, "soup", depth=5)) == 3


@pytest.mark.parametrize("pages", [True, False])
@pytest.mark.parametrize("per_document", [True, False])
def test_passages_without_a_vector_are_waiting_and_not_found(
    stores: Stores, collection: str, per_document: bool, pages: bool
) -> None:
    store(stores, collection, prepared_report("b", "pea soup"))
    stores.life.put(collection, prepared_report("a", "nine ships", "tomato soup", "cold tea"))
    embed(stores, collection, "a", "nine ships")
    refuse(stores, collection, "a", "tomato soup")
    assert [card.sha1 for card in stores.reports.cards(collection)] == ["a", "b"]
    found = best(stores, collection, "soup", depth=9, per_document=per_document, pages=pages)
    assert sorted(hit[1:] for hit in found) == [("a", 0), ("b", 0)]
    assert stores.reports.waiting(collection, ["a", "b"], model="words") == UnembeddedReports(["a"], 1, 1)
    assert stores.reports.waiting(collection, ["b"], model="words") == UnembeddedReports([])
    chunks = [HitKey(sha1, "chunk", number) for sha1 in "abz" for number in range(3)]
    assert stores.reports.unembedded(collection, chunks, model="words") == {chunks[1]: 2, chunks[2]: 3}


def test_reading_within_one_snapshot_sees_no_change_of_others(database_url: str, collection: str) -> None:
    with open_pool(database_url, max_size=4) as pool:
        stores = stores_in(pool)
        store(stores, collection, prepared_report("b", "pea soup"))
        words = PostgresWords(pool)
        words.put(collection, SPACE, [WordUnit("b/chunk/0", "pea soup", "b")])
        with stores.reports.reading():
            assert len(best(stores, collection, "soup")) == 1
            with ThreadPoolExecutor(1) as other:
                other.submit(store, stores, collection, prepared_report("a", "tomato soup")).result()
                other.submit(words.drop, collection, SPACE, ["b/chunk/0"]).result()
            assert len(best(stores, collection, "soup")) == 1
            assert len(words.search(collection, SPACE, "soup", limit=9)) == 1
        assert len(best(stores, collection, "soup")) == 2
        assert words.search(collection, SPACE, "soup", limit=9) == []


TABLES = ("report_vectors", "report_passages")


@pytest.mark.parametrize(("pages", "per_document"), crossed([True, False], [True, False]))
def test_a_search_reads_the_vectors_of_its_reports_alone(
    database_url: str, collection: str, per_document: bool, pages: bool
) -> None:
    with open_pool(database_url, max_size=1) as pool:
        stores = stores_in(pool)
        for number in range(40):
            texts = [f"ship {number} {place}" for place in range(30)]
            store(stores, collection, prepared_report(f"r{number}", *texts))
        with pool.connection() as connection:
            connection.execute("ANALYZE report_vectors, report_passages, reports")
        with recorded() as statements:
            assert best(stores, collection, "ship", documents=["r7"], per_document=per_document, pages=pages)
            stores.reports.waiting(collection, ["r7"], model="words")
            stores.reports.unembedded(collection, [HitKey("r7", "chunk", 1)], model="words")
    plans = "\n".join(plans_of(database_url, statements))
    assert [table for table in TABLES if f"Seq Scan on {table}" in plans] == [], plans
    read = rows_read(plans)
    assert {table: read[table] for table in TABLES if read[table] > 100} == {}, plans
