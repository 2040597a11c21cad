"""What every store of reports must do over the life of a report: run on the one in memory and on PostgreSQL."""

from querymill_workers.retrievers.reports.rules.fusion import HitKey
from tests.fixtures.reports import Stores, best, prepared_report, store

TEXTS = ("nine ships", "tomato soup")


def test_a_dropped_report_is_gone_and_the_lists_know_at_once(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", *TEXTS))
    store(stores, collection, prepared_report("b", "pea soup"))
    assert len(stores.reports.cards(collection)) == 2
    assert stores.life.drop(collection, "a") == 3
    assert stores.life.drop(collection, "a") == 0
    assert [card.sha1 for card in stores.reports.cards(collection)] == ["b"]
    assert stores.reports.texts(collection, [HitKey("a", "page", 1), HitKey("a", "chunk", 0)]) == {}
    store(stores, collection, prepared_report("a", *TEXTS))
    assert len(stores.reports.cards(collection)) == 2


def test_no_collection_changes_anothers_reports(stores: Stores, collection: str) -> None:
    store(stores, collection, prepared_report("a", *TEXTS))
    other = f"{collection}x"
    assert stores.life.drop(other, "a") == 0
    assert best(stores, collection, "soup") == [("soup", "a", 1)]
