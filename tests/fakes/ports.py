"""All that a flow needs, with stores in memory and scripted models."""

from dataclasses import replace
from typing import Any

from querymill_shared.board import Board
from querymill_workers.dispatch.ports import Ports
from querymill_workers.retrievers.conversations.stores.memory_passages import MemoryPassages
from querymill_workers.retrievers.files.parsing.lexical import LexicalParser
from querymill_workers.retrievers.files.stores.memory import MemoryFiles
from querymill_workers.retrievers.messages.stores.memory_sessions import MemorySessions
from querymill_workers.retrievers.modules.stores.memory_descriptions import MemoryDescriptions
from querymill_workers.retrievers.reports.rules.glossary import Glossary
from querymill_workers.retrievers.reports.stores.memory import MemoryReports
from querymill_workers.stores import with_bodies
from querymill_workers.wiring import ports_in_memory
from tests.fakes.answers import ScriptedAnswers
from tests.fakes.models import ScriptedJudge, ScriptedRewriter, WordEmbeddings
from tests.fixtures.boards import new_board


def memory_ports(*, board: Board | None = None, **chosen: Any) -> Ports:
    """Build ports with an empty board; those that a test looks into, or that behave otherwise, are ``chosen``."""
    ports = replace(
        ports_in_memory(board or new_board()),
        embeddings=WordEmbeddings(),
        rewriter=ScriptedRewriter({}),
        judge=ScriptedJudge(),
        answers=ScriptedAnswers(),
        parser=LexicalParser(),
        shorthands={},
        glossary=Glossary({}),
        count_tokens=lambda text: len(text.split()),
        max_attempts=3,
    )
    embedded = MemoryFiles | MemoryDescriptions | MemoryPassages | MemorySessions | MemoryReports
    in_memory = [store for store in chosen.values() if isinstance(store, embedded)]
    vectors = dict(ports.vectors) | {store.vectors.retriever: store.vectors for store in in_memory}
    chosen = {"vectors": vectors, **chosen}
    return replace(with_bodies(replace(ports, **chosen)), **chosen)
