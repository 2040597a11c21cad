"""The ports of all flows together."""

from collections.abc import Callable, Mapping, Sequence

from querymill_shared.board import Board
from querymill_shared.contracts.filters import Retriever
from querymill_shared.values import value
from querymill_workers.documents.ports import Body, Documents, ForgetfulCaches, Samples
from querymill_workers.inference.answer_ports import Answers
from querymill_workers.inference.ports import Embeddings, Judge, PreviousModel, Rewriter
from querymill_workers.jobs.bell import Heartbeat
from querymill_workers.jobs.processor import Count, uncounted
from querymill_workers.retrievers.conversations.ports.caches import (
    ConversationCaches,
)
from querymill_workers.retrievers.conversations.ports.passages import Passages
from querymill_workers.retrievers.conversations.ports.ranks import (
    ConversationRanks,
)
from querymill_workers.retrievers.conversations.ports.sessions import (
    Conversations,
)
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.files.ports import (
    Files,
    SourceParser,
)
from querymill_workers.retrievers.files.rules.relevance import FileProfiles
from querymill_workers.retrievers.messages.ports import Messages, Sessions
from querymill_workers.retrievers.modules.ports import Descriptions, Modules
from querymill_workers.retrievers.reports.ports import ReportLife, Reports
from querymill_workers.retrievers.reports.rules.glossary import Glossary
from querymill_workers.services.ports import CallbackSecretsInUse, Caller, Judgements, TextVectors
from querymill_workers.text.calibration import Calibration
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.ports import Vectors
from querymill_workers.versions.ports import Versions
from querymill_workers.words.ports import Words


@value
class Ports:
    """Every port that a flow may use. Each retriever sees only its own part, through a protocol of its own.

    ``clock`` returns monotonic seconds. ``previous`` is the previous embedding model, if one is configured.
    ``count`` adds to a counter of the fleet.
    """

    board: Board
    heartbeat: Heartbeat
    embeddings: Embeddings
    rewriter: Rewriter
    judge: Judge
    answers: Answers
    reports: Reports
    report_life: ReportLife
    text_vectors: TextVectors
    judgements: Judgements
    caller: Caller
    callback_secrets: CallbackSecretsInUse
    documents: Mapping[Retriever, Documents]
    bodies: Mapping[Retriever, Body]
    fleet_caches: ForgetfulCaches
    modules: Modules
    descriptions: Descriptions
    vectors: Mapping[Retriever, Vectors]
    words: Words
    samples: Samples
    shorthands: Mapping[str, Sequence[str]]
    versions: Versions
    messages: Messages
    sessions: Sessions
    files: Files
    parser: SourceParser
    conversations: Conversations
    conversation_caches: ConversationCaches
    conversation_passages: Passages
    ranks: ConversationRanks
    technical_keywords: TechnicalKeywords
    thesauri: Mapping[str, Thesaurus]
    file_profiles: FileProfiles
    calibration: Calibration
    glossary: Glossary
    count_tokens: Callable[[str], int]
    clock: Callable[[], float]
    max_attempts: int
    outage_patience_s: float
    previous: PreviousModel | None = None
    count: Count = uncounted
