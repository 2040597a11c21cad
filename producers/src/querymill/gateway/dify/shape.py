"""The shapes of Dify's external knowledge API: its request, its records, its errors.

Dify asks ``<endpoint>/retrieval``. When a knowledge base is connected it sends the key alone, without a body, and takes
403, 404 and 502 for a key that is wrong, an address that is wrong and a server that is away; any other status will do.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.datastructures import Headers
from starlette.types import Scope

from querymill.gateway.http.problems import KINDS, Problem
from querymill_shared.contracts.fields import MAX_QUERY_CHARS, QueryText

#: The path of this route. Its errors have Dify's shape.
RETRIEVAL: Final = "/retrieval"
#: Dify's codes of errors. Any other error has its HTTP status as its code.
NO_KEY, WRONG_KEY, NO_KNOWLEDGE = 1001, 1002, 2001
#: Records of a reply, and conditions of a request.
MAX_RECORDS, MAX_CONDITIONS = 100, 20

Operator = Literal[
    "contains", "not contains", "start with", "end with", "is", "is not", "in", "not in", "empty", "not empty",
    "=", "≠", ">", "<", "≥", "≤", "before", "after",
]  # fmt: skip
FieldName = Annotated[str, Field(min_length=1, max_length=200)]


class RetrievalSetting(BaseModel):
    """How much is retrieved."""

    top_k: Annotated[int, Field(ge=1, le=MAX_RECORDS, description="records of the reply")]
    score_threshold: Annotated[
        float | None, Field(ge=0, le=1, description="records with a lower score are left out; null or 0: none")
    ] = None


class MetadataComparison(BaseModel):
    """A condition on the metadata of a document, or on a field of its kind."""

    name: Annotated[
        FieldName | Annotated[list[FieldName], Field(min_length=1, max_length=MAX_CONDITIONS)],
        Field(description="the field; of several names, one that meets the condition is enough"),
    ]
    comparison_operator: Annotated[Operator, Field(description="how the field is compared")]
    value: Annotated[
        str | float | list[str | float] | None,
        Field(union_mode="left_to_right", description="what it is compared with; `empty` and `not empty` need none"),
    ] = None

    @property
    def names(self) -> list[str]:
        """The names of the field."""
        return [self.name] if isinstance(self.name, str) else self.name


class MetadataCondition(BaseModel):
    """Conditions on a document."""

    logical_operator: Annotated[
        Literal["and", "or"] | None, Field(description="whether all conditions must be met, or one; null: all")
    ] = "and"
    conditions: Annotated[
        list[MetadataComparison] | None, Field(max_length=MAX_CONDITIONS, description="the conditions; null: none")
    ] = None


class RetrievalRequest(BaseModel):
    """A request of Dify. What it sends beyond these fields is left alone."""

    knowledge_id: Annotated[
        str,
        Field(min_length=1, max_length=200, description="a collection, or a collection and a kind: `filings/reports`"),
    ]
    query: Annotated[QueryText, Field(description=f"the question, up to {MAX_QUERY_CHARS} characters")]
    retrieval_setting: Annotated[RetrievalSetting, Field(description="how much is retrieved")]
    metadata_condition: Annotated[MetadataCondition | None, Field(description="which documents may be found")] = None


class RetrievalRecord(BaseModel):
    """A text that was found."""

    content: Annotated[str, Field(description="the text")]
    score: Annotated[float, Field(ge=0, le=1, description="how near it is; never more than that of a record before it")]
    title: Annotated[str, Field(description="what it is and where in it: `Annual report 2022, page 12`")]
    metadata: Annotated[
        dict[str, Any], Field(description="what was stored with the document, the fields of the hit, its id and link")
    ]


class Retrieved(BaseModel):
    """A reply."""

    records: Annotated[list[RetrievalRecord], Field(description="the texts, nearest first")]


class RetrievalError(BaseModel):
    """An error as Dify reads it."""

    error_code: Annotated[
        int, Field(description="1001: no bearer key; 1002: wrong key; 2001: no such knowledge; else the status")
    ]
    error_msg: Annotated[str, Field(description="what is wrong, and in which field")]


def status_of(status: int) -> int:
    """Return the status that Dify has for one of ours: a caller without a valid key is denied access."""
    return 403 if status == 401 else status


def respond(scope: Scope, problem: Problem) -> JSONResponse:
    """Answer a problem as Dify reads it."""
    status = status_of(KINDS[problem.slug].status)
    body = RetrievalError(error_code=_code_of(problem, Headers(scope=scope)), error_msg=problem.detail)
    return JSONResponse(body.model_dump(), status, problem.headers)


def _code_of(problem: Problem, headers: Mapping[str, str]) -> int:
    match problem.slug:
        case "unauthorized":
            scheme, _, key = headers.get("authorization", "").partition(" ")
            return WRONG_KEY if scheme.lower() == "bearer" and key.strip() else NO_KEY
        case "forbidden":
            return WRONG_KEY
        case "not-found":
            return NO_KNOWLEDGE
        case slug:
            return KINDS[slug].status
