"""How code documents become records of MongoDB."""

from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary
from querymill_workers.retrievers.modules.stores.mongo_rows import (
    BUCKETS,
    bucket_of,
    code_row,
    document_row,
    posting_id,
    recall_filter,
    row_id,
    summary_of,
)
from tests.fixtures.world import example

DOCUMENT = ModuleDocument.model_validate(
    example(0, "vtk.Filters.Sources.vtkConeSource", "vtkActor", description="A $cone") | {"$where": {"a.b": 1}}
)


def test_a_record_holds_what_scoring_reads() -> None:
    row = document_row("code", DOCUMENT, Revision("r"), "7 job")
    assert row == {
        "_id": "code/0",
        "collection": "code",
        "document": 0,
        "names": ["vtk.Filters.Sources.vtkConeSource", "vtkActor"],
        "description": "A $cone",
        "posted": ["ecruosenocktv", "rotcaktv"],
        "revision": "r",
        "record": "7 job",
    }


def test_a_record_is_read_back_as_what_scoring_reads() -> None:
    summary = summary_of(0, document_row("code", DOCUMENT, Revision("r"), ""))
    assert summary == DocumentSummary(0, ("vtk.Filters.Sources.vtkConeSource", "vtkActor"), "A $cone")


def test_a_whole_document_is_text_so_that_its_metadata_is_no_operator() -> None:
    row = code_row("code", DOCUMENT, "7 job")
    assert set(row) == {"_id", "collection", "document", "json", "record"}
    assert ModuleDocument.model_validate_json(row["json"]) == DOCUMENT


def test_the_number_0_and_the_path_0_have_records_and_buckets_of_their_own() -> None:
    assert (row_id("code", 0), row_id("code", "0")) == ("code/0", 'code/"0"')
    assert posting_id("code", "rotca", 3) == "code/rotca/3"


@given(st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20))
def test_a_document_has_one_bucket_of_those_there_are(document: int | str) -> None:
    assert 0 <= bucket_of(document) < BUCKETS
    assert bucket_of(document) == bucket_of(document)


def test_the_query_for_exact_names_has_both_forms_and_that_for_suffixes_is_a_range() -> None:
    assert recall_filter("code", ["actor", "plane"], match="exact") == {
        "collection": "code", "reversed": {"$in": ["rotca", "rotcaktv", "enalp", "enalpktv"]},
    }  # fmt: skip
    assert recall_filter("code", ["actor"], match="suffix") == {
        "collection": "code", "reversed": {"$gte": "rotca", "$lt": "rotca\uffff"},
    }  # fmt: skip
