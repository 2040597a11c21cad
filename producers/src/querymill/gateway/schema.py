"""The OpenAPI document: the requests and results of every kind from their contracts, the errors as they are.

What the contracts know and the framework does not, such as the union of all requests, is put in here.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import TypeAdapter
from pydantic.json_schema import models_json_schema

from querymill.gateway.dify.shape import RETRIEVAL, RetrievalRequest
from querymill.gateway.field_descriptions import describe_fields
from querymill.gateway.http.batch_shapes import AskedJob, AskedJobs, JobAnswer
from querymill.gateway.http.feedback import FeedbackBody
from querymill.gateway.http.job_shapes import EventBody
from querymill.gateway.http.problems import MEDIA_TYPE
from querymill.gateway.http.routing import JSON
from querymill.gateway.http.scopes import REQUESTS
from querymill.gateway.openai.shape import COMPLETIONS, CompletionRequest, is_openai_path
from querymill_shared.contracts.batches import KeptBatch
from querymill_shared.contracts.events import ANY_EVENT
from querymill_shared.contracts.jobs import ANY_REQUEST, ANY_RESULT
from querymill_shared.contracts.submit_options import BESIDE, SubmitOptions

_REFERENCE: Final = "#/components/schemas/{model}"
#: The key that holds each union in the components.
REQUEST, RESULT, EVENT = "JobRequest", "JobResult", "JobEvent"
_UNIONS: Final[Mapping[str, TypeAdapter[Any]]] = {REQUEST: ANY_REQUEST, RESULT: ANY_RESULT, EVENT: ANY_EVENT}
_DESCRIPTION: Final = """Submit a question, carry on, and read the result when it is there.

Errors are problem details (RFC 9457): `errors` names each field and the rule that it breaks. A job that failed is 424,
never a 5xx.
With API keys, send `Authorization: Bearer qm_…`."""
#: Fields of examples by name. What is not here gets the least value that its type allows.
_VALUES: Final[Mapping[str, Any]] = {
    "collection": "filings",
    "query": "How did margins develop?",
    "question": "How did margins develop?",
    "text": "Gross margin rose to 41.3 %.",
    "content": "def margin(): ...",
    "started_at": "2026-03-01T09:00:00Z",
    "created_at": "2026-03-01T09:00:00Z",
    "ended_at": "2026-03-01T09:00:02Z",
    "timestamp": "2026-03-01T09:00:02Z",
    "url": "https://hooks.example/jobs",
    "path": "src/margin.py",
    "file_path": "src/margin.js",
    "code": "margin()",
    "sha1": "ab12",
    "model": "multilingual-e5-small",
    "vtkjs_modules": "vtkConeSource",
}
#: Optional fields that an example shows: without them it would break a rule.
_SHOWN: Final = frozenset(("ids", "message_id", "after"))


def document(app: FastAPI) -> dict[str, Any]:
    """Make the document once; later calls return it."""
    if app.openapi_schema is None:
        made = get_openapi(
            title="Querymill", version=app.version, description=_DESCRIPTION, routes=app.routes, openapi_version="3.1.0"
        )
        schemas = made.setdefault("components", {}).setdefault("schemas", {})
        for name, union in _UNIONS.items():
            # As they are validated: a model that leaves fields out when it is written would be described without any.
            schema = union.json_schema(ref_template=_REFERENCE, mode="validation")
            _join(schemas, schema.pop("$defs", {}) | {name: schema})
        # A kind has its default in Python, where the class names it. Over the wire it says what the body is.
        schemas[REQUEST]["required"] = ["kind"]
        options = SubmitOptions.model_json_schema(ref_template=_REFERENCE)
        beside = options["properties"]
        _join(schemas, options["$defs"])
        for asked in REQUESTS.values():
            schemas[asked.__name__]["properties"]["version"]["maximum"] = asked.newest_version
            # What accompanies a request stands beside its fields.
            schemas[asked.__name__]["properties"] |= {name: beside[name] for name in sorted(BESIDE)}
        own: Any = [
            (EventBody, "serialization"), (CompletionRequest, "validation"), (AskedJobs, "validation"),
            (FeedbackBody, "validation"), (RetrievalRequest, "validation"), (KeptBatch, "validation"),
        ]  # fmt: skip
        _, bodies = models_json_schema(own, ref_template=_REFERENCE)
        _join(schemas, bodies["$defs"])
        _name_unions(schemas)
        for schema in schemas.values():
            describe_fields(schema)
        made["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{"key": []}, {}]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)  # the framework's own errors, which no route answers
        _describe_bodies(made["paths"])
        _describe_problems(made["paths"])
        app.openapi_schema = made
    return app.openapi_schema


def _join(schemas: dict[str, Any], others: Mapping[str, Any]) -> None:
    """Add schemas to those of the framework, whose variants of the same models they replace.

    Raises:
        ValueError: A name would stand for two models, and a route be described by another one's.
    """
    for name, schema in others.items():
        former = schemas.get(name, schema)
        if former.get("properties", {}).keys() != schema.get("properties", {}).keys():
            raise ValueError(f"two models have the name {name}")
        schemas[name] = schema


def _name_unions(schemas: dict[str, Any]) -> None:
    """Name the unions where a model holds any request, or any result."""
    asked = schemas[AskedJob.__name__]["properties"]
    asked["request"] = {"$ref": f"#/components/schemas/{REQUEST}", "description": asked["request"]["description"]}
    result = {"anyOf": [{"$ref": f"#/components/schemas/{RESULT}"}, {"type": "null"}]}
    schemas[JobAnswer.__name__]["properties"]["result"] = result


def _describe_bodies(paths: dict[str, Any]) -> None:
    """Describe the bodies that the routes read themselves."""
    submit = paths["/v1/jobs"]["post"]
    submit["requestBody"] = _json_body(REQUEST) | {"required": True}
    examples = {kind: {"value": value} for kind, value in request_examples().items()}
    submit["requestBody"]["content"][JSON]["examples"] = examples
    submit["responses"]["200"]["content"][JSON] = {"schema": {"$ref": f"#/components/schemas/{RESULT}"}}
    batch = paths["/v1/jobs:batch"]["post"]
    batch["requestBody"] = _json_body(AskedJobs.__name__) | {"required": True}
    several = {"jobs": [{"request": examples["messages"]["value"], "idempotency_key": "turn-42"}]}
    batch["requestBody"]["content"][JSON]["examples"] = {"jobs": {"value": several}}
    result = paths["/v1/jobs/{job_id}/result"]["get"]["responses"]
    result["200"]["content"][JSON] = {"schema": {"$ref": f"#/components/schemas/{RESULT}"}}
    search = REQUESTS["messages"].__name__
    chat = paths["/api/chat/vectors"]["post"]
    chat["requestBody"] = _json_body(search) | {"required": True}
    chat["requestBody"]["content"][JSON]["examples"] = {"messages": examples["messages"]}
    paths["/v1/jobs/{job_id}/feedback"]["post"]["requestBody"] = _json_body(FeedbackBody.__name__) | {"required": True}
    completions = paths[COMPLETIONS]["post"]
    completions["requestBody"] = _json_body(CompletionRequest.__name__) | {"required": True}
    asked = {"model": _VALUES["collection"], "messages": [{"role": "user", "content": _VALUES["question"]}]}
    completions["requestBody"]["content"][JSON]["examples"] = {"question": {"value": asked}}
    retrieval = paths[RETRIEVAL]["post"]
    retrieval["requestBody"] = _json_body(RetrievalRequest.__name__) | {"required": True}
    sought = {"query": _VALUES["query"], "retrieval_setting": {"top_k": 3, "score_threshold": 0.5}}
    example = {"knowledge_id": _VALUES["collection"]} | sought
    retrieval["requestBody"]["content"][JSON]["examples"] = {"question": {"value": example}}


def _json_body(name: str) -> dict[str, Any]:
    return {"content": {JSON: {"schema": {"$ref": f"#/components/schemas/{name}"}}}}


def _describe_problems(paths: Mapping[str, Any]) -> None:
    """Give every error its true media type. The framework would describe its own bodies."""
    for path, operation in _operations(paths):
        if path == RETRIEVAL:
            continue
        if is_openai_path(path):
            operation["responses"].pop("422", None)  # the framework's own
            continue
        for status, response in operation["responses"].items():
            if int(status) >= 400:
                response["content"] = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemBody"}}}
            elif int(status) in (204, 304):
                response.pop("content", None)


def _operations(paths: Mapping[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, operations in paths.items():
        yield from ((path, operation) for operation in operations.values())


def request_examples() -> dict[str, Any]:
    """Return a small valid request of every kind, made from its contract."""
    return {kind: {"kind": kind} | _example(asked.model_json_schema()) for kind, asked in REQUESTS.items()}


def _example(schema: Mapping[str, Any]) -> Any:
    return _value("", schema, schema.get("$defs", {}))


def _value(name: str, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Any:
    """Return a value for a field: one that reads well if its name is known, else the least that its schema allows."""
    if "$ref" in schema:
        return _value(name, defs[schema["$ref"].rsplit("/", 1)[1]], defs)
    if "discriminator" in schema:
        tag, (value, first) = schema["discriminator"]["propertyName"], _first_tagged(schema)
        return {tag: value} | _value(name, first, defs)
    for several in ("anyOf", "oneOf", "allOf"):
        if several in schema:
            return _value(name, schema[several][0], defs)
    fixed = [schema["const"]] if "const" in schema else schema.get("enum", ())
    return fixed[0] if fixed else _of_type_named(name, schema, defs)


def _first_tagged(schema: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    """Return the first of several models, with the tag that tells it from the others."""
    first = schema["oneOf"][0]
    tags: Mapping[str, str] = schema["discriminator"]["mapping"]
    return next(tag for tag, reference in tags.items() if reference == first["$ref"]), first


def _of_type_named(name: str, schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Any:
    match schema.get("type"):
        case "object":
            shown = {*schema.get("required", ()), *(_SHOWN & schema.get("properties", {}).keys())}
            properties = schema.get("properties", {}).items()
            fields = {field: _value(field, given, defs) for field, given in properties if field in shown}
            return fields or _mapping(schema, defs)
        case "array":
            return [_value(name, schema.get("items", {}), defs)] * max(schema.get("minItems", 1), 1)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return True
        case _:
            return _VALUES.get(name, f"{name or 'a'}-1")


def _mapping(schema: Mapping[str, Any], defs: Mapping[str, Any]) -> Any:
    """Return a mapping with one entry, if it must have any."""
    if not schema.get("minProperties"):
        return {}
    values: Mapping[str, Any] = schema.get("additionalProperties") or next(
        iter(schema.get("patternProperties", {}).values()), {}
    )
    return {"src/margin.py": "0" * 64 if "pattern" in values else _value("", values, defs)}
