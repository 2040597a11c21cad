"""Every kind of job: the one union that a sixth retriever joins."""

import hashlib
from typing import Annotated

from pydantic import Field, TypeAdapter

from querymill_shared.contracts.answer import AnswerQuestion, AnswerResult
from querymill_shared.contracts.conversations import ConversationResult, ConversationSearch
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts
from querymill_shared.contracts.files import FileResult, FileSearch
from querymill_shared.contracts.ingest_conversations import (
    DropConversation,
    IngestConversation,
    IngestConversationResult,
    UpdateConversation,
)
from querymill_shared.contracts.ingest_files import (
    CompareFiles,
    CompareFilesResult,
    EmbedFiles,
    EmbedFilesResult,
    IngestFiles,
    IngestFilesResult,
)
from querymill_shared.contracts.message_life import (
    EmbedMessages,
    EmbedMessagesResult,
    ForgetResult,
    ForgetSession,
    ReembedMessages,
    ReembedResult,
)
from querymill_shared.contracts.messages import IngestSession, IngestSessionResult, MessageResult, MessageSearch
from querymill_shared.contracts.modules import (
    IngestModule,
    IngestModuleResult,
    LearnLexicon,
    LexiconResult,
    ModuleResult,
    ModuleSearch,
)
from querymill_shared.contracts.ranks import RankList, RankListResult, RanksResult, RecomputeRanks
from querymill_shared.contracts.reindex import Reindex, ReindexResult
from querymill_shared.contracts.reports import IngestReport, IngestResult, ReportResult, ReportSearch
from querymill_shared.contracts.rerank import Rerank, RerankResult

#: Requests that only a collection can answer that holds something.
Search = ReportSearch | ModuleSearch | MessageSearch | ConversationSearch | FileSearch
SearchResult = ReportResult | ModuleResult | MessageResult | ConversationResult | FileResult
JobRequest = (
    ReportSearch
    | IngestReport
    | ModuleSearch
    | IngestModule
    | LearnLexicon
    | MessageSearch
    | IngestSession
    | EmbedMessages
    | ReembedMessages
    | ForgetSession
    | Reindex
    | ConversationSearch
    | IngestConversation
    | UpdateConversation
    | DropConversation
    | RecomputeRanks
    | RankList
    | CompareFiles
    | IngestFiles
    | EmbedFiles
    | EmbedTexts
    | Rerank
    | AnswerQuestion
    | FileSearch
)
AnyResult = (
    ReportResult
    | IngestResult
    | ModuleResult
    | IngestModuleResult
    | LexiconResult
    | MessageResult
    | IngestSessionResult
    | EmbedMessagesResult
    | ReembedResult
    | ForgetResult
    | ReindexResult
    | ConversationResult
    | IngestConversationResult
    | RanksResult
    | RankListResult
    | CompareFilesResult
    | IngestFilesResult
    | EmbedFilesResult
    | EmbedResult
    | RerankResult
    | AnswerResult
    | FileResult
)

_REQUESTS: TypeAdapter[JobRequest] = TypeAdapter(Annotated[JobRequest, Field(discriminator="kind")])
_RESULTS: TypeAdapter[AnyResult] = TypeAdapter(Annotated[AnyResult, Field(discriminator="kind")])


def decode_request(text: str | bytes) -> JobRequest:
    """Read a request from JSON.

    Raises:
        pydantic.ValidationError: It breaks a rule; the error names the field and the rule.
    """
    return _REQUESTS.validate_json(text)


def decode_result(text: str | bytes) -> AnyResult:
    """Read a result from JSON."""
    return _RESULTS.validate_json(text)


def fingerprint(request: JobRequest) -> str:
    """Hash what was asked: equal requests, equal fingerprints."""
    return hashlib.sha256(request.model_dump_json().encode()).hexdigest()
