import json
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.jobs import decode_request
from querymill_shared.contracts.modules.ingest import IngestModules, MetaInfo, ModuleDocument
from querymill_shared.contracts.modules.search import ModuleSearch

DOCUMENT: dict[str, Any] = {
    "file_path": "cone.js",
    "code": "vtkConeSource.newInstance()",
    "meta_info": {"vtkjs_modules": ["vtk.Filters.Sources.vtkConeSource"], "description": "a cone"},
}


def search(**fields: Any) -> ModuleSearch:
    return ModuleSearch.model_validate({"query": "a cone", "collection": "code"} | fields)


def test_a_plain_string_is_a_sub_query_of_weight_five() -> None:
    asked = search(sub_queries=["a cone", {"description": "a mapper"}, {"description": "x", "weight": 0}])
    assert [(part.description, part.weight) for part in asked.sub_queries] == [("a cone", 5), ("a mapper", 5), ("x", 0)]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"query": "x" * 65_536}, "query: String should have at most 8000 characters"),
    ({"query": " \n"}, "query: Value error, must not be empty"),
    ({"query": {"$ne": ""}}, "query: Input should be a valid string"),
    ({"sub_queries": [{"description": "x", "weight": -1}]}, "sub_queries.0.weight"),
    ({"sub_queries": [{"description": "x", "weight": float("nan")}]}, "sub_queries.0.weight"),
    ({"sub_queries": [{"description": "x", "weight": float("inf")}]}, "sub_queries.0.weight"),
    ({"sub_queries": [{"description": "x" * 65_536}]}, "sub_queries.0.description"),
    ({"sub_queries": [{"$where": "1", "description": "x"}]}, "sub_queries.0.$where: Extra inputs"),
    ({"sub_queries": [{"description": {"$gt": ""}}]}, "sub_queries.0.description"),
    ({"sub_queries": ["x"] * 33}, "sub_queries"),
    ({"match": "regex"}, "match"),
    ({"channels": []}, "channels"),
    ({"channels": ["text", "text"]}, "channels: Value error, values must be unique"),
    ({"top_k": 0}, "top_k"),
    ({"candidates": 5}, "candidates (5) must be at least top_k (6)"),
    ({"collection": "a/b"}, "collection"),
    ({"$where": "sleep(1000)"}, "$where: Extra inputs"),
]


def rules(error: ValidationError) -> str:
    return "; ".join(f"{'.'.join(map(str, part['loc']))}: {part['msg']}" for part in error.errors())


@pytest.mark.parametrize(("fields", "rule"), BAD)
def test_a_bad_request_names_the_field_and_the_rule(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError) as caught:
        search(**fields)
    assert rule in rules(caught.value)


@pytest.mark.parametrize("text", ["(a+)+$", ".*", "[vtk", "\\", "{$ne: 1}"])
def test_the_characters_of_expressions_are_plain_text(text: str) -> None:
    assert search(query=text).query == text


BAD_DOCUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"file_path": None}, "file_path"),
    ({"file_path": " "}, "file_path"),
    ({"faiss_id": True}, "faiss_id"),
    ({"faiss_id": "7"}, "faiss_id"),
    ({"faiss_id": 2**63}, "faiss_id"),
    ({"code": None}, "code"),
    ({"meta_info": {"description": "x"}}, "meta_info.vtkjs_modules: Field required"),
    ({"meta_info": {"vtkjs_modules": []}}, "meta_info.vtkjs_modules"),
    ({"meta_info": {"vtkjs_modules": ["vtk"]}}, "meta_info.vtkjs_modules"),
    ({"file_path": "a" * 1_001}, "file_path"),
    ({"meta_info": {"vtkjs_modules": [".*"]}}, "meta_info.vtkjs_modules.0"),
    ({"meta_info": {"vtkjs_modules": ["模块"]}}, "meta_info.vtkjs_modules.0"),
]


@pytest.mark.parametrize(("changes", "rule"), BAD_DOCUMENTS)
def test_a_bad_document_names_the_field_and_the_rule(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError) as caught:
        ModuleDocument.model_validate(DOCUMENT | changes)
    assert rule in rules(caught.value)


@pytest.mark.parametrize(("faiss_id", "document"), [(None, "cone.js"), (0, 0), (7, 7)])
def test_the_id_is_the_faiss_id_if_it_is_not_none_else_the_path(faiss_id: int | None, document: int | str) -> None:
    assert ModuleDocument.model_validate(DOCUMENT | {"faiss_id": faiss_id}).document == document


def test_the_bare_word_vtk_is_passed_over_among_the_modules() -> None:
    meta_info = {"vtkjs_modules": ["vtk", "vtk.Rendering.Core.vtkActor", "VTK"]}
    document = ModuleDocument.model_validate(DOCUMENT | {"meta_info": meta_info})
    assert document.meta_info.vtkjs_modules == ("vtk.Rendering.Core.vtkActor",)


def test_a_path_may_be_longer_than_a_name() -> None:
    assert ModuleDocument.model_validate(DOCUMENT | {"file_path": "a" * 1_000}).file_path == "a" * 1_000


def test_unknown_fields_are_kept_as_metadata() -> None:
    meta_info = {**DOCUMENT["meta_info"], "$author": {"$where": 1}}
    document = ModuleDocument.model_validate(DOCUMENT | {"package": "p", "meta_info": meta_info})
    assert document.metadata == {"package": "p", "meta_info": {"$author": {"$where": 1}}}


@pytest.mark.parametrize("document", [0, "0", "cone.js"])
def test_requests_survive_the_wire(document: int | str) -> None:
    changes = {"faiss_id": document} if isinstance(document, int) else {"file_path": document}
    request = IngestModules(collection="code", documents=(ModuleDocument.model_validate(DOCUMENT | changes),))
    again = decode_request(request.model_dump_json())
    assert again == request
    assert json.loads(request.model_dump_json())["kind"] == "ingest_modules"


def test_only_a_search_without_sub_queries_is_split() -> None:
    assert search(split=True).steps == ("original", "split")
    assert search(split=True, sub_queries=["x"]).steps == ("original",)


def test_a_name_that_is_no_module_is_refused_by_one_rule_alone() -> None:
    def rules_broken_by(*names: str) -> list[tuple[object, ...]]:
        with pytest.raises(ValidationError) as refused:
            MetaInfo.model_validate({"vtkjs_modules": names})
        return [error["loc"] for error in refused.value.errors()]

    assert rules_broken_by("not a name") == [("vtkjs_modules", 0)]
    assert rules_broken_by("vtkActor", "not a name") == [("vtkjs_modules", 1)]
    assert rules_broken_by() == rules_broken_by("vtk") == [("vtkjs_modules",)]


@pytest.mark.parametrize("path", ["a\nb.js", "a\x1b[31m.js", "a\u2028b.js", "a\x7f.js"])
def test_a_path_with_control_characters_is_refused(path: str) -> None:
    given = {"file_path": path, "code": "", "meta_info": {"vtkjs_modules": ["vtkActor"]}}
    with pytest.raises(ValidationError, match="control characters"):
        ModuleDocument.model_validate(given)
