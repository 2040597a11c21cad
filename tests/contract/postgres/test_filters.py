"""The SQL predicate of a filter is equal to the rule `passes`, on the real server, for documents of every retriever."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.filters import RESERVED, Filterable, Retriever, passes
from querymill_workers.documents.memory import MemoryDocuments
from querymill_workers.documents.ports import Documents, Entry
from querymill_workers.documents.store import PostgresDocuments
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import Pool, open_pool
from querymill_workers.postgres.metadata_index import text_after
from tests.fixtures import filters

#: The fields of which a document may have several values.
MANY = ("role", "module")
KINDS: list[Retriever] = ["conversations", "reports", "files", "modules"]


@pytest.fixture(scope="module")
def pool(database_url: str) -> Iterator[Pool]:
    with open_pool(database_url, max_size=2) as opened:
        yield opened


def values_of(retriever: Retriever, name: str) -> st.SearchStrategy[Any]:
    match RESERVED[retriever][name]:
        case "time":
            return st.lists(filters.times(), max_size=2)
        case "date":
            return st.none() | filters.days()
        case "text":
            one = st.none() | st.sampled_from(filters.TEXTS)
            return st.lists(one, max_size=2) if name in MANY else one


def entries(retriever: Retriever) -> st.SearchStrategy[list[Entry]]:
    """Documents whose ids differ, and stand in the field that is one."""
    fields = {name: values_of(retriever, name) for name in RESERVED[retriever]}
    drawn = st.builds(Entry, st.sampled_from(filters.TEXTS[1:]), st.fixed_dictionaries(fields), filters.metadata())
    return st.lists(
        drawn.map(lambda entry: with_id(retriever, entry)), max_size=8, unique_by=lambda entry: entry.document
    )


def with_id(retriever: Retriever, entry: Entry) -> Entry:
    named = {"conversations": "session_id", "files": "path"}.get(retriever)
    return Entry(entry.document, {**entry.fields, **({named: entry.document} if named else {})}, entry.metadata)


def ids_of(documents: Documents, collection: str, conditions: dict[str, Any]) -> list[str]:
    return list(documents.ids(collection, conditions))


@pytest.mark.parametrize("retriever", KINDS)
@given(st.data())
def test_the_predicate_finds_what_passes(pool: Pool, retriever: Retriever, data: st.DataObject) -> None:
    """Also after documents were replaced. What is looked up leaves nothing out, and stands beside the condition."""
    collection, stored = f"c{uuid4().hex}", PostgresDocuments(pool, retriever)
    known: dict[str, Entry] = {}
    for written in data.draw(st.lists(entries(retriever), min_size=1, max_size=2)):
        stored.put(collection, [(entry, Revision("r")) for entry in written])
        known |= {entry.document: entry for entry in written}
    for conditions in data.draw(st.lists(filters.filters(dict(RESERVED[retriever])), min_size=1, max_size=6)):
        found = [id_ for id_, entry in known.items() if passes(conditions, Filterable(entry.fields, entry.metadata))]
        assert ids_of(stored, collection, conditions) == sorted(found), conditions
        assert stored.count(collection, conditions) == len(found)


@given(st.data())
def test_what_is_added_to_a_session_is_found_as_if_it_had_come_with_it(pool: Pool, data: st.DataObject) -> None:
    collection = f"c{uuid4().hex}"
    both: list[Documents] = [PostgresDocuments(pool, "conversations"), MemoryDocuments("conversations")]
    for place, written in enumerate(data.draw(st.lists(entries("conversations"), min_size=2, max_size=3))):
        for stored in both:
            (stored.extend if place else stored.put)(collection, [(entry, Revision(str(place))) for entry in written])
    assert both[0].revisions(collection) == both[1].revisions(collection)
    for conditions in data.draw(st.lists(filters.filters(dict(RESERVED["conversations"])), min_size=1, max_size=6)):
        assert ids_of(both[0], collection, conditions) == ids_of(both[1], collection, conditions), conditions


@given(entries("conversations"), st.lists(filters.times() | st.none(), min_size=2, max_size=2))
def test_a_span_has_its_beginning_and_not_its_end(pool: Pool, found: list[Entry], span: list[datetime | None]) -> None:
    collection = f"c{uuid4().hex}"
    both: list[Documents] = [PostgresDocuments(pool, "conversations"), MemoryDocuments("conversations")]
    for stored in both:
        stored.put(collection, [(entry, Revision("r")) for entry in found])
    asked = [list(stored.ids(collection, {}, start=span[0], end=span[1])) for stored in both]
    assert asked[0] == asked[1]


ROW = {"path": None, "language": None}


@pytest.mark.parametrize(
    ("metadata", "conditions"),
    [
        ([{"tag": [["a"]]}], [{"tag": "a"}, {"tag": {"from": "a"}}, {"tag": {"prefix": "a"}}]),
        ([{"tag": None}, {"tag": [["a"]]}, {}], [{"tag": None}, {"x.y": None}]),
    ],
)
def test_lists_within_lists_and_nulls_are_as_the_rule_has_them(
    pool: Pool, metadata: list[dict[str, Any]], conditions: list[dict[str, Any]]
) -> None:
    stored, collection = PostgresDocuments(pool, "modules"), f"c{uuid4().hex}"
    found = [Entry(str(number), {"module": (), "path": None}, each) for number, each in enumerate(metadata)]
    stored.put(collection, [(entry, Revision("r")) for entry in found])
    for asked in conditions:
        wanted = [entry.document for entry in found if passes(asked, Filterable(entry.fields, entry.metadata))]
        assert ids_of(stored, collection, asked) == wanted, asked


NUMBERS = (1e-320, 1e-300, 5e-301, -5e-301, 0, 1, 1.5, 2**53, 2**53 + 1, 10**299, -(10**299), 1e300, 1.7e308)
LONG = "x" * 63
CHARS = (LONG, LONG + "y", LONG + "ya", LONG + "yb", LONG + "z", "\ud7ff", "\ue000", "\U0010ffff", "\U0010ffffa")


@pytest.mark.parametrize("values", [NUMBERS, CHARS], ids=["numbers", "texts"])
def test_what_is_looked_up_leaves_no_value_out_that_is_rounded_or_cut(pool: Pool, values: tuple[Any, ...]) -> None:
    stored, collection = PostgresDocuments(pool, "modules"), f"c{uuid4().hex}"
    found = [Entry(f"{number:02}", {"module": (), "path": None}, {"v": each}) for number, each in enumerate(values)]
    stored.put(collection, [(entry, Revision("r")) for entry in found])
    asked: list[dict[str, Any]] = [{"from": value} for value in values] + [{"to": value} for value in values]
    asked += [{"from": value, "to": value} for value in values]
    asked += [{"prefix": value} for value in values if isinstance(value, str)]
    for condition in asked:
        wanted = [each.document for each in found if passes({"v": condition}, Filterable(each.fields, each.metadata))]
        assert ids_of(stored, collection, {"v": condition}) == wanted, condition


@given(st.lists(st.tuples(st.sampled_from(["put", "extend", "drop"]), entries("conversations")), max_size=5))
def test_what_is_looked_up_is_what_the_rows_say(
    pool: Pool, database_url: str, changes: list[tuple[str, list[Entry]]]
) -> None:
    stored, collection = PostgresDocuments(pool, "conversations"), f"c{uuid4().hex}"
    for change, written in changes:
        if change == "drop":
            stored.drop(collection, [entry.document for entry in written])
        else:
            (stored.put if change == "put" else stored.extend)(collection, [(each, Revision("r")) for each in written])
    said = (
        "SELECT entry.kind, entry.value, document, entry.field, entry.number, entry.text"
        " FROM documents, document_entries(retriever, times, metadata || reserved) AS entry WHERE collection = %s"
    )
    noted = "SELECT kind, value, document, field, number, text FROM metadata_values WHERE collection = %s"
    with psycopg.connect(database_url) as connection:
        connection.execute("SET LOCAL querymill.across = on")
        rows = [set(connection.execute(query.encode(), [collection])) for query in (said, noted)]
        ends = "SELECT document FROM documents WHERE collection = %s AND (first_at, last_at) IS DISTINCT FROM"
        ends += (
            " ((SELECT min(moment) FROM unnest(times) AS moment), (SELECT max(moment) FROM unnest(times) AS moment))"
        )
        assert connection.execute(ends.encode(), [collection]).fetchall() == []
    assert rows[0] == rows[1]


@pytest.mark.parametrize(
    ("prefix", "following"),
    [("ab", "ac"), ("a\U0010ffff", "b"), ("\ud7ff", "\ue000"), ("\U0010ffff", None), ("", None)],
)
def test_the_text_after_all_with_a_prefix(prefix: str, following: str | None) -> None:
    assert text_after(prefix) == following
