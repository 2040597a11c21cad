"""All that a flow needs, in memory and with scripted models."""

import time
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from querymill_shared.board import Claim, MemoryBoard
from querymill_shared.settings import Settings
from querymill_workers.dispatch.ports import Ports
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.stores.caches import conversation_caches
from querymill_workers.retrievers.conversations.stores.memory import MemoryConversations
from querymill_workers.retrievers.conversations.stores.memory_ranks import MemoryRanks
from querymill_workers.retrievers.files.parsing.lexical import LexicalParser
from querymill_workers.retrievers.files.profiles import file_profiles
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.messages.stores.memory import MemoryMessages
from querymill_workers.retrievers.modules.stores.memory import MemoryModules
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.services.stores.memory import MemoryTextVectors
from querymill_workers.text.calibration import IDENTITY
from querymill_workers.words.memory import MemoryWords
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
