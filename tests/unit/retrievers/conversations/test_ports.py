"""The part of the world that conversations may touch is enough for each of their jobs."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.conversations import ConversationRequest
from querymill_shared.contracts.conversations.ingest import DropConversation, IngestConversation, UpdateConversation
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.jobs import decode_result
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from querymill_workers.documents.ports import Documents
from querymill_workers.inference.fleet_cache import NoFleetCaches
from querymill_workers.jobs.heartbeat import NoHeartbeat
from querymill_workers.ledger.memory import MemoryLedger
from querymill_workers.lexicon import thesauri
from querymill_workers.postgres.planner_statistics import NoSamples
from querymill_workers.retrievers.conversations.flow import flow_of
from querymill_workers.retrievers.conversations.ports.caches import ConversationCaches
from querymill_workers.retrievers.conversations.ranks.daily import rebuilds_due
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.stores.caches import conversation_caches
from querymill_workers.retrievers.conversations.stores.memory import MemoryConversations
from querymill_workers.retrievers.conversations.stores.memory_passages import MemoryPassages
from querymill_workers.retrievers.conversations.stores.memory_ranks import MemoryRanks
from querymill_workers.services.stores.memory import MemoryTextVectors
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.vectors.ports import Vectors
from querymill_workers.words.memory import MemoryWords
from tests.fakes.jobs import KeepingBoard
from tests.fakes.models import WordEmbeddings
from tests.fixtures.boards import new_board_of

MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
SESSION = ChatSession(session_id="s", started_at=MOMENT, messages=(ChatMessage(message_id="a", text="ships"),))
UPDATE = {"session_id": "s", "messages": [{"message_id": "b", "text": "soup"}]}


@dataclass
class OnlyRanks:
    """`RankPorts`, and nothing else."""

    ranks: MemoryRanks
    board: ValkeyBoard = field(default_factory=lambda: new_board_of(KeepingBoard))
    heartbeat: NoHeartbeat = field(default_factory=NoHeartbeat)
    clock: Callable[[], float] = time.monotonic
    max_attempts: int = 3


@dataclass
class OnlyConversations(OnlyRanks):
    """`ConversationPorts`, and nothing else."""

    conversations: MemoryConversations = field(default_factory=MemoryConversations)
    conversation_caches: ConversationCaches = field(default_factory=conversation_caches)
    technical_keywords: TechnicalKeywords = field(default_factory=TechnicalKeywords)
    thesauri: Mapping[str, Thesaurus] = field(default_factory=thesauri)
    conversation_passages: MemoryPassages = field(default_factory=MemoryPassages)
    vectors: Mapping[Retriever, Vectors] = field(init=False)
    embeddings: WordEmbeddings = field(default_factory=WordEmbeddings)
    previous: None = None
    words: MemoryWords = field(default_factory=MemoryWords)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    documents: Mapping[Retriever, Documents] = field(default_factory=dict)
    text_vectors: MemoryTextVectors = field(default_factory=MemoryTextVectors)
    fleet_caches: NoFleetCaches = field(default_factory=NoFleetCaches)
    samples: NoSamples = field(default_factory=NoSamples)

    def __post_init__(self) -> None:
        self.vectors = {"conversations": self.conversation_passages.vectors}


@pytest.fixture
def ports() -> OnlyConversations:
    conversations = MemoryConversations()
    return OnlyConversations(MemoryRanks(conversations), conversations=conversations)


def run(request: ConversationRequest, ports: OnlyConversations) -> str:
    """Run every step of a job by its flow, and give the kind of its result."""
    job_id, _ = ports.board.submit(request)
    for step in request.steps:
        claim = ports.board.claim(job_id, step)
        assert claim is not None
        flow_of(request).step(claim, ports)
    result = ports.board.result(job_id)
    assert result is not None
    return decode_result(result).kind


@pytest.mark.parametrize(
    "request_",
    [
        ConversationSearch(collection="talks", query="ships", why_not="s"),
        IngestConversation(collection="talks", session=SESSION),
        UpdateConversation.model_validate({"collection": "talks", "update": UPDATE}),
        DropConversation(collection="talks", session_id="s"),
        RecomputeRanks(collection="talks", scope="changed"),
        RecomputeRanks(collection="talks", scope="all", mode="pagerank"),
        RankList(collection="talks"),
    ],
    ids=lambda request: request.kind,
)
def test_a_flow_needs_no_more_of_the_world_than_its_ports_name(
    request_: ConversationRequest, ports: OnlyConversations
) -> None:
    assert run(IngestConversation(collection="talks", session=SESSION), ports) == "ingest_conversations"
    assert run(request_, ports) == request_.kind


def test_asking_for_rebuilds_needs_the_ranks_and_the_board_alone(ports: OnlyConversations) -> None:
    run(IngestConversation(collection="talks", session=SESSION), ports)
    assert rebuilds_due(OnlyRanks(ports.ranks), MOMENT) == []
    (first, _) = rebuilds_due(OnlyRanks(ports.ranks), datetime(9999, 1, 1, tzinfo=UTC))
    assert first.step == "part-0"
