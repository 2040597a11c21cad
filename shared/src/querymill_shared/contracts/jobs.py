"""The unions of all kinds of job. A new retriever joins them here."""

import hashlib
from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from querymill_shared.contracts.answer import AnswerQuestion, AnswerResult
from querymill_shared.contracts.callbacks import TellCaller, ToldCaller
from querymill_shared.contracts.conversations import ConversationJobResult, ConversationRequest
from querymill_shared.contracts.documents import DocumentJobResult, DocumentRequest
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.contracts.feedback import FeedbackList, FeedbackResult, GiveFeedback, ListFeedback
from querymill_shared.contracts.fields import from_board
from querymill_shared.contracts.files import FileJobResult, FileRequest
from querymill_shared.contracts.ingest import ExtendResult
from querymill_shared.contracts.messages import MessageJobResult, MessageRequest
from querymill_shared.contracts.modules import ModuleJobResult, ModuleRequest
from querymill_shared.contracts.reindex import Reindex, ReindexResult
from querymill_shared.contracts.reports import ReportJobResult, ReportRequest
from querymill_shared.contracts.rerank import Rerank, RerankResult
from querymill_shared.contracts.search import Search, SearchResult
from querymill_shared.contracts.set_aside import ListSetAside, SetAsideResult
from querymill_shared.contracts.vectors import (
    EmbedDocuments,
    EmbedDocumentsResult,
    Reembed,
    ReembedResult,
    WeighVectors,
    WeighVectorsResult,
)

JobRequest = (
    ReportRequest
    | MessageRequest
    | ModuleRequest
    | ConversationRequest
    | FileRequest
    | EmbedTexts
    | Rerank
    | AnswerQuestion
    | EmbedDocuments
    | Reembed
    | WeighVectors
    | Reindex
    | DocumentRequest
    | ListSetAside
    | GiveFeedback
    | ListFeedback
    | Search
    | TellCaller
)
AnyResult = (
    ReportJobResult
    | MessageJobResult
    | ModuleJobResult
    | ConversationJobResult
    | FileJobResult
    | ExtendResult
    | EmbedResult
    | RerankResult
    | AnswerResult
    | EmbedDocumentsResult
    | ReembedResult
    | WeighVectorsResult
    | ReindexResult
    | DocumentJobResult
    | SetAsideResult
    | FeedbackResult
    | FeedbackList
    | SearchResult
    | ToldCaller
)

#: What reads any of them. Its kind says which it is.
ANY_REQUEST: Final[TypeAdapter[JobRequest]] = TypeAdapter(Annotated[JobRequest, Field(discriminator="kind")])
ANY_RESULT: Final[TypeAdapter[AnyResult]] = TypeAdapter(Annotated[AnyResult, Field(discriminator="kind")])


def validate_request(text: str | bytes) -> JobRequest:
    """Read a caller's request from JSON.

    Raises:
        pydantic.ValidationError: It breaks a rule or has an unknown field; the error names the field and the rule.
    """
    return ANY_REQUEST.validate_json(text)


def decode_request(text: str | bytes) -> JobRequest:
    """Read a request that is on the board. Unknown fields are ignored.

    Raises:
        pydantic.ValidationError: It breaks a rule; the error names the field and the rule.
    """
    return from_board(ANY_REQUEST, text)


def decode_result(text: str | bytes) -> AnyResult:
    """Read a result that is on the board. Unknown fields are ignored."""
    return from_board(ANY_RESULT, text)


def fingerprint(request: JobRequest) -> str:
    """Return a hash of a request. Equal requests have equal fingerprints."""
    return fingerprint_of(request.model_dump_json())


def fingerprint_of(written: str) -> str:
    """Return the fingerprint of a request that is written as JSON already."""
    return hashlib.sha256(written.encode()).hexdigest()
