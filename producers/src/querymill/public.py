"""Every public name of the client, by what it is for. `import querymill` imports this when a name is first used."""

# Clients and errors
from querymill.client.job import AsyncJob, Job
from querymill.client.mill import AsyncQuerymill, Querymill
from querymill.extras import NotInstalled
from querymill.ingesting.jsonl import BadLine
from querymill.ingesting.outcomes import Ingestion
from querymill.ingesting.path_options import PathOptions, UnreadPath, UnusablePath
from querymill.ingesting.submitting import LoadProgress

# Requests, events and results
from querymill_shared.contracts.answer import (
    AnswerHit,
    AnswerQuestion,
    AnswerResult,
    Citation,
    Judgement,
    WrittenAnswer,
)
from querymill_shared.contracts.callbacks import Callback, EndedJob, JobEndedMessage, TellCaller, ToldCaller
from querymill_shared.contracts.conversations.ingest import (
    IngestConversations,
    IngestConversationsResult,
)
from querymill_shared.contracts.conversations.ranks import RankList, RankListResult, RanksResult, RecomputeRanks
from querymill_shared.contracts.conversations.search import (
    ConversationHit,
    ConversationResult,
    ConversationSearch,
    Understanding,
)
from querymill_shared.contracts.documents import (
    DocumentList,
    DocumentPage,
    DropDocuments,
    DropResult,
    ExportDocuments,
    ListDocuments,
    ShowDocument,
    ShownDocument,
)
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, TextToEmbed
from querymill_shared.contracts.errors import (
    AccessDenied,
    ClientClosed,
    IdempotencyConflict,
    InvalidRequest,
    JobCancelled,
    JobEnded,
    JobFailed,
    Overloaded,
    QuerymillError,
    StillRunning,
    TooManyRequests,
    Unavailable,
    UnexpectedReply,
    UnknownCollection,
    UnknownJob,
    UnreadableJob,
)
from querymill_shared.contracts.events import (
    AnswerPart,
    Cancelled,
    Done,
    Event,
    Failed,
    Hits,
    PartialHit,
    Progress,
    Queued,
    SearchRound,
    StageFinished,
    StageStarted,
)
from querymill_shared.contracts.feedback import (
    FeedbackList,
    FeedbackResult,
    GiveFeedback,
    HitJudgement,
    KeptJudgement,
    ListFeedback,
)
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.files.ingest import (
    CompareFiles,
    CompareFilesResult,
    IngestFiles,
    IngestFilesResult,
    SourceFile,
)
from querymill_shared.contracts.files.search import FileHit, FileResult, FileSearch
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.ingest import Extend, ExtendResult, IngestedDocument, IngestResult, SessionExtension
from querymill_shared.contracts.jobs import AnyResult, JobRequest
from querymill_shared.contracts.messages.ingest import IngestMessages, IngestMessagesResult
from querymill_shared.contracts.messages.search import MessageHit, MessageResult, MessageSearch
from querymill_shared.contracts.modules.ingest import IngestModules, IngestModulesResult, MetaInfo, ModuleDocument
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult, ModuleSearch, SubQuery
from querymill_shared.contracts.reindex import Reindex, ReindexResult
from querymill_shared.contracts.reports.ingest import IngestReports, IngestReportsResult, Report, ReportPage
from querymill_shared.contracts.reports.search import ReportHit, ReportResult, ReportSearch
from querymill_shared.contracts.rerank import Rerank, RerankCandidate, RerankedHit, RerankResult
from querymill_shared.contracts.results import Degradation, JobResult, Stage
from querymill_shared.contracts.search import JointHit, Search, SearchedBranch, SearchResult
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_shared.contracts.set_aside import ListSetAside, RefusedText, SetAsideResult
from querymill_shared.contracts.vectors import (
    EmbedDocuments,
    EmbedDocumentsResult,
    Reembed,
    ReembedResult,
    WeighVectors,
    WeighVectorsResult,
)
from querymill_shared.settings import Settings

__all__ = [
    "AccessDenied",
    "AnswerHit",
    "AnswerPart",
    "AnswerQuestion",
    "AnswerResult",
    "AnyResult",
    "AsyncJob",
    "AsyncQuerymill",
    "BadLine",
    "Callback",
    "Cancelled",
    "ChatMessage",
    "ChatSession",
    "Citation",
    "ClientClosed",
    "CompareFiles",
    "CompareFilesResult",
    "ConversationHit",
    "ConversationResult",
    "ConversationSearch",
    "Degradation",
    "DocumentList",
    "DocumentPage",
    "Done",
    "DropDocuments",
    "DropResult",
    "EmbedDocuments",
    "EmbedDocumentsResult",
    "EmbedResult",
    "EmbedTexts",
    "EndedJob",
    "Event",
    "ExportDocuments",
    "Extend",
    "ExtendResult",
    "Failed",
    "FeedbackList",
    "FeedbackResult",
    "FileHit",
    "FileResult",
    "FileSearch",
    "GiveFeedback",
    "HitJudgement",
    "Hits",
    "IdempotencyConflict",
    "IngestConversations",
    "IngestConversationsResult",
    "IngestFiles",
    "IngestFilesResult",
    "IngestMessages",
    "IngestMessagesResult",
    "IngestModules",
    "IngestModulesResult",
    "IngestReports",
    "IngestReportsResult",
    "IngestResult",
    "IngestedDocument",
    "Ingestion",
    "InvalidRequest",
    "Job",
    "JobCancelled",
    "JobEnded",
    "JobEndedMessage",
    "JobFailed",
    "JobRequest",
    "JobResult",
    "JointHit",
    "Judgement",
    "KeptJudgement",
    "Lane",
    "LearnLexicon",
    "LexiconResult",
    "ListDocuments",
    "ListFeedback",
    "ListSetAside",
    "LoadProgress",
    "MessageHit",
    "MessageResult",
    "MessageSearch",
    "MetaInfo",
    "ModuleDocument",
    "ModuleDocumentHit",
    "ModuleResult",
    "ModuleSearch",
    "NotInstalled",
    "Overloaded",
    "PartialHit",
    "PathOptions",
    "Progress",
    "Querymill",
    "QuerymillError",
    "Queued",
    "RankList",
    "RankListResult",
    "RanksResult",
    "RecomputeRanks",
    "Reembed",
    "ReembedResult",
    "RefusedText",
    "Reindex",
    "ReindexResult",
    "Report",
    "ReportHit",
    "ReportPage",
    "ReportResult",
    "ReportSearch",
    "Rerank",
    "RerankCandidate",
    "RerankResult",
    "RerankedHit",
    "Search",
    "SearchResult",
    "SearchRound",
    "SearchedBranch",
    "SessionExtension",
    "SetAsideResult",
    "Settings",
    "ShowDocument",
    "ShownDocument",
    "SourceFile",
    "Stage",
    "StageFinished",
    "StageStarted",
    "StillRunning",
    "SubQuery",
    "TellCaller",
    "TextToEmbed",
    "ToldCaller",
    "TooManyRequests",
    "Turn",
    "Unavailable",
    "Understanding",
    "UnexpectedReply",
    "UnknownCollection",
    "UnknownJob",
    "UnreadPath",
    "UnreadableJob",
    "UnusablePath",
    "WeighVectors",
    "WeighVectorsResult",
    "WrittenAnswer",
]
