"""A filter as a query gives the documents that the rule lets through, no more and no fewer."""

from typing import Any
from uuid import uuid4

import pymongo
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from querymill_shared.contracts.filters import passes
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.jobs.revisions import Revision
from querymill_workers.retrievers.modules.ports import Modules, filterable
from querymill_workers.retrievers.modules.stores.mongo import MongoModules
from tests.fixtures.filters import filters, metadata

MODULES = ["vtkActor", "vtk.Core.vtkActor", "vtk.Core.vtkPlane", "a", "A", "ab", "b"]
PATHS = ["a", "A", "ab", "b", "7", "中", "中文", "{}", "%", "$", "\U0010ffff", "\U0010ffffa", "a\U0010ffffb"]


@st.composite
def documents(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(MODULES), min_size=1, max_size=3))
    return {"file_path": draw(st.sampled_from(PATHS)), "code": "x", "meta_info": {"vtkjs_modules": names}} | draw(
        metadata()
    )


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(
    st.lists(documents(), min_size=1, max_size=6),
    st.lists(filters({"module": "text", "path": "text"}), min_size=1, max_size=8),
)
@example(
    [{"file_path": "b", "code": "x", "meta_info": {"vtkjs_modules": ["a"]}}],
    [{"module": {"from": ""}, "path": {"from": "b", "to": "a"}}],
)
def test_a_query_finds_what_passes(modules: Modules, found: list[dict[str, Any]], asked: list[dict[str, Any]]) -> None:
    collection = f"c{uuid4().hex}"
    stored = [ModuleDocument.model_validate(line | {"faiss_id": number}) for number, line in enumerate(found)]
    modules.put(collection, [(document, Revision("r")) for document in stored], record="r")
    modules.settle(collection, [document.document for document in stored])
    for conditions in asked:
        wanted = {document.document for document in stored if passes(conditions, filterable(document))}
        assert set(modules.listed(collection, conditions)) == wanted, conditions
        assert modules.count(collection, conditions) == len(wanted), conditions


@pytest.mark.parametrize(
    "conditions", [{"team": "red"}, {"size": {"from": 3}}, {"path": {"prefix": "src/"}}, {"owner": None}]
)
def test_a_condition_reads_the_index_and_not_every_document(mongo: MongoModules, conditions: dict[str, Any]) -> None:
    collection = f"c{uuid4().hex}"
    lines: list[dict[str, Any]] = [
        {
            "faiss_id": number,
            "file_path": "lib/a.js",
            "code": "x",
            "meta_info": {"vtkjs_modules": ["vtkA"]},
            "team": "blue",
            "size": 1,
            "owner": "Ada",
        }
        for number in range(30)
    ]
    lines.append(lines[0] | {"faiss_id": 99, "file_path": "src/b.js", "team": "red", "size": 7, "owner": None})
    stored = [ModuleDocument.model_validate(line) for line in lines]
    mongo.put(collection, [(document, Revision("r")) for document in stored], record="r")
    mongo.settle(collection, [document.document for document in stored])
    with pymongo.MongoClient[dict[str, Any]](mongo._uri) as client:
        rows = client.get_default_database("querymill")["module_documents"]
        plan = rows.find(mongo.query(collection, conditions)).explain()
    assert plan["executionStats"]["totalDocsExamined"] < 10
    assert list(mongo.listed(collection, conditions)) == [99]
