"""The TypeScript client: its types fit the OpenAPI document, and its locks name no registry."""

import json

from tests.fixtures.typescript import CLIENT, TYPES, digest_of, schemas, written_digest


def test_the_types_are_those_of_the_document() -> None:
    assert written_digest(TYPES.read_text(encoding="utf-8")) == digest_of(schemas()), (
        "the contracts have changed: python -m tests.fixtures.typescript writes the types again"
    )


def test_a_change_of_a_field_is_seen_and_a_change_of_words_is_not() -> None:
    found = schemas()
    report = found["Report"]
    described = {**found, "Report": {**report, "description": "Something else.", "title": "Other"}}
    assert digest_of(described) == digest_of(found)
    fields = {name: field for name, field in report["properties"].items() if name != "title"}
    assert digest_of({**found, "Report": {**report, "properties": fields}}) != digest_of(found)


def test_the_locks_name_no_registry() -> None:
    for lock in (CLIENT / "package-lock.json", CLIENT / "generator" / "package-lock.json"):
        text = lock.read_text(encoding="utf-8")
        assert '"integrity"' in text
        assert '"resolved"' not in text


def test_the_client_has_no_dependency_of_its_own() -> None:
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    assert not {"dependencies", "optionalDependencies", "peerDependencies"} & package.keys()
