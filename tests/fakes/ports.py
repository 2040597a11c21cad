"""All that a flow needs, in memory and with scripted models."""

import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from querymill_shared.board import Claim, MemoryBoard
from querymill_shared.settings import Settings
from querymill_workers.domain.calibration import IDENTITY
from querymill_workers.domain.technical_keywords import TechnicalKeywords
from querymill_workers.inference.relevance import file_profiles
from querymill_workers.parsing.lexical import LexicalParser
from querymill_workers.ports import Ports
from querymill_workers.stores.kept import conversation_caches
from querymill_workers.stores.memory import MemoryReports, MemoryTextVectors, MemoryWords
from querymill_workers.stores.memory_conversation_ranks import MemoryRanks
from querymill_workers.stores.memory_conversations import MemoryConversations
from querymill_workers.stores.memory_files import MemoryFiles
from querymill_workers.stores.memory_messages import MemoryMessages
from querymill_workers.stores.memory_modules import MemoryModules
from tests.fakes.answers import ScriptedAnswers
from tests.fakes.models import ScriptedJudge, ScriptedRewriter, WordEmbeddings


class NoHeartbeat:
    """Keeps no lease: nothing in memory takes that long."""

    def keep(self, claim: Claim) -> nullcontext[None]:
        return nullcontext()


def memory_ports(**chosen: Any) -> Ports:
    """Build ports without a server; those that a test looks into, or that behave otherwise, are ``chosen``."""
    messages, conversations = MemoryMessages(), MemoryConversations()
    ports = Ports(
        board=MemoryBoard(Settings()),
        heartbeat=NoHeartbeat(),
        embeddings=WordEmbeddings(),
        rewriter=ScriptedRewriter({}),
        judge=ScriptedJudge(),
        answers=ScriptedAnswers(),
        reports=MemoryReports(),
        text_vectors=MemoryTextVectors(),
        modules=MemoryModules(),
        messages=messages,
        sessions=messages.sessions,
        files=MemoryFiles(),
        parser=LexicalParser(),
        conversations=conversations,
        conversation_caches=conversation_caches(),
        ranks=MemoryRanks(conversations),
        technical_keywords=TechnicalKeywords(),
        file_profiles=file_profiles(),
        calibration=IDENTITY,
        words=MemoryWords(),
        shorthands={},
        glossary={},
        count_tokens=lambda text: len(text.split()),
        clock=time.monotonic,
        max_attempts=3,
    )
    return replace(ports, **chosen)
