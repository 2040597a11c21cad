"""Reports as documents, in memory and on PostgreSQL: the suite of all kinds, and filters of searches."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from querymill_shared.contracts.filters import passes
from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.documents.ports import Documents
from querymill_workers.postgres.connection import open_pool
from querymill_workers.retrievers.reports.ingest import revision_of
from querymill_workers.retrievers.reports.ports import SPACE, PreparedReport
from querymill_workers.retrievers.reports.rules.chunking import Chunk
from querymill_workers.retrievers.reports.rules.fusion import entry_id
from querymill_workers.retrievers.reports.stores.documents import ReportDocuments
from querymill_workers.retrievers.reports.stores.memory import filterable
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import Words, WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.fixtures.document_suite import LATER, DocumentSuite
from tests.fixtures.reports import (
    Stores,
    embed,
    prepared_report,
    refuse,
    report_of,
    stores_in,
    stores_in_memory,
)


class TestReportDocuments(DocumentSuite):
    stores: Stores
    words: Words

    @pytest.fixture(params=["memory", "postgres"])
    def documents(self, request: pytest.FixtureRequest) -> Iterator[Documents]:
        if request.param == "memory":
            self.stores, self.words = stores_in_memory(), MemoryWords()
            yield ReportDocuments(self.stores.life, self.words, self.stores.vectors)
            return
        with open_pool(request.getfixturevalue("database_url"), max_size=4) as pool:
            self.stores, self.words = stores_in(pool), PostgresWords(pool)
            yield ReportDocuments(self.stores.life, self.words, self.stores.vectors)

    def document(self, number: int, **metadata: Any) -> Mapping[str, Any]:
        return {
            "sha1": f"r{number}", "title": f"Report {number}", "company": "Acme", "aliases": ["ACM"],
            "published_at": "2023-03-01", "pages": [{"page": 1, "text": "nine ships"}, {"page": 2, "text": "soup"}],
            **metadata,
        }  # fmt: skip

    def id_of(self, document: Mapping[str, Any]) -> str:
        return str(document["sha1"])

    def put(self, documents: Documents, collection: str, found: Sequence[Mapping[str, Any]]) -> None:
        for document in found:
            report = Report.model_validate(document)
            chunks = [Chunk(page.page, number, page.text, 1) for number, page in enumerate(report.pages)]
            self.stores.life.put(collection, PreparedReport(report, revision_of(report), chunks))
            entries = [WordUnit(entry_id(report.sha1, chunk.number), chunk.text, report.sha1) for chunk in chunks]
            self.words.put(collection, SPACE, entries)

    def test_a_list_tells_of_pages_and_of_passages_that_wait(self, documents: Documents, collection: str) -> None:
        self.put_teams(documents, collection)
        card = documents.list(collection, {}, limit=1, after=None)[0]
        assert (card.title, card.size, card.unit, card.pending) == ("Report 0", 2, "pages", 2)
        embed(self.stores, collection, "r0", "soup")
        refuse(self.stores, collection, "r0", "nine ships")
        cards = documents.list(collection, {}, limit=2, after=None)
        assert [card.pending for card in cards] == [0, 2]
        assert str(card.when) == "2023-03-01 00:00:00+00:00"

    def test_a_report_without_a_company_comes_back_as_it_was(self, documents: Documents, collection: str) -> None:
        report = {name: value for name, value in self.document(1).items() if name != "company"}
        self.put(documents, collection, [report])
        assert documents.whole(collection, ["r1"])["r1"] == report
        assert documents.count(collection, {"company": None}) == 1
        assert [card.company for card in self.stores.reports.cards(collection)] == [None]

    def test_dropping_takes_the_words_and_what_was_refused(self, documents: Documents, collection: str) -> None:
        ids = self.put_teams(documents, collection)
        refuse(self.stores, collection, ids[0], "soup")
        documents.drop(collection, ids[0], LATER)
        assert len(self.words.search(collection, SPACE, "soup", limit=99)) == 4
        assert self.stores.vectors.count_refused(collection) == 0

    def test_a_collection_that_was_left_is_not_listed_until_a_report_comes(
        self, documents: Documents, collection: str
    ) -> None:
        ids = self.put_teams(documents, collection)
        self.stores.vectors.active_model(collection, first="words")
        for sha1 in ids:
            documents.drop(collection, sha1, LATER)
        documents.leave(collection)
        assert collection not in self.stores.reports.collections()
        assert self.stores.vectors.active_model(collection) is None
        self.put_teams(documents, collection)
        assert collection in self.stores.reports.collections()
        assert len(self.stores.reports.cards(collection)) == 5


FILTERS: list[dict[str, Any]] = [
    {},
    {"company": "Borough"},
    {"company": {"prefix": "B"}, "period": "2022"},
    {"company": None},
    {"company": {"from": "Borough"}},
    {"period": None},
    {"title": ["Report a", "Report c"]},
    {"published_at": {"from": "2023-01-01", "to": "2023-12-31"}},
    {"published_at": {"from": "2024-01-01"}},
    {"type": "10-K"},
    {"type": ["10-K", "10-Q"], "year": {"from": 2022}},
    {"type": None},
]


@pytest.mark.parametrize("number", range(len(FILTERS)))
def test_a_store_agrees_with_the_rule_of_filters(stores: Stores, collection: str, number: int) -> None:
    reports = [
        report_of("a", "x", type="10-K", year=2022),
        report_of("e", "x", company=None),
        report_of("b", "x", company="Borough", period=None, type=["10-Q", "10-K"], year=2021),
        report_of("c", "x", company="Borough", published_at="2024-02-29"),
        report_of("d", "x", company="Beta", published_at=None, year=2023, type="10-Q"),
    ]
    for report in reports:
        fields = report.model_dump(mode="json", exclude={"pages", "sha1"})
        stores.life.put(collection, prepared_report(report.sha1, "x", **fields))
    expected = {report.sha1 for report in reports if passes(FILTERS[number], filterable(report))}
    assert stores.reports.matching(collection, FILTERS[number]) == expected
    assert stores.reports.matching(f"{collection}x", FILTERS[number]) == set()
