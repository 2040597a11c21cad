"""Measure the scoring of conversations on sets: ``python -m tests.quality.measure_conversations FOLDER_OF_SETS``.

The flow's own functions over the adapters in memory: candidates are found once for each query, then scored in every
way. Prints the rows of ``conversations.md``; `querymill eval` gives the same figures through the real servers.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from querymill_evaluation.conversation_sets import ConversationSet, asked_at, read_conversation_set
from querymill_evaluation.measures import measure_run
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_workers.lexicon import thesauri
from querymill_workers.retrievers.conversations.ports import ConversationPorts
from querymill_workers.retrievers.conversations.ports.caches import ConversationCaches
from querymill_workers.retrievers.conversations.ports.sessions import SPACE
from querymill_workers.retrievers.conversations.ranks.recompute import update_all
from querymill_workers.retrievers.conversations.rules.technical_keywords import TechnicalKeywords
from querymill_workers.retrievers.conversations.search.choose import choose_hits, rank_sessions
from querymill_workers.retrievers.conversations.search.recall import recall_candidates
from querymill_workers.retrievers.conversations.search.score import score_sessions
from querymill_workers.retrievers.conversations.search.understand import understand_question
from querymill_workers.retrievers.conversations.stores.caches import MemoryCache
from querymill_workers.retrievers.conversations.stores.memory import MemoryConversations
from querymill_workers.retrievers.conversations.stores.memory_ranks import MemoryRanks
from querymill_workers.retrievers.conversations.write.derived import entries_of, prepare_session
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.words.memory import MemoryWords

SETS = ("dev_sessions", "irc_threads")
SWINGS = (0.1, 0.2, 0.4)


@dataclass(frozen=True)
class World:
    """The ports that a search of conversations touches."""

    conversations: MemoryConversations
    words: MemoryWords
    technical_keywords: TechnicalKeywords
    conversation_caches: ConversationCaches
    thesauri: Mapping[str, Thesaurus]


def main() -> int:
    """Print the tables as Markdown."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    for name in SETS:
        chosen = read_conversation_set(folder / name)
        ports = cast("ConversationPorts", world_of(chosen))
        for now in ("asked", "after"):
            for options in variants():
                figures = measure_run(run(chosen, ports, now, options), chosen.qrels)
                row = [name, now, " ".join(f"{key}={value}" for key, value in options.items())]
                print("| " + " | ".join([*row, *(f"{figure:.3f}" for figure in figures.values())]) + " |", flush=True)
    return 0


def variants() -> Iterator[dict[str, Any]]:
    """List the ways to score that are compared."""
    alone = {"diversify": False}
    yield alone | {"scoring": "bm25"}
    yield alone | {"scoring": "bm25", "time_filter": False}
    yield alone | {"scoring": "product"}
    for rank in SWINGS:
        yield alone | {"scoring": "bounded", "rank_swing": rank, "decay_swing": 0.0}
    for decay in SWINGS:
        yield alone | {"scoring": "bounded", "rank_swing": 0.0, "decay_swing": decay}
    yield alone | {"scoring": "bounded"}
    yield {"scoring": "bounded", "diversify": True}


def world_of(chosen: ConversationSet) -> World:
    """Take a set in, and bring the ranks up to date."""
    conversations, words, keywords = MemoryConversations(), MemoryWords(), TechnicalKeywords()
    for collection, session in chosen.sessions:
        words.put(collection, SPACE, entries_of(session))
        conversations.put(collection, prepare_session(session, keywords), replacing=None)
    for collection in {collection for collection, _ in chosen.sessions}:
        update_all(collection, MemoryRanks(conversations))
    caches = ConversationCaches(MemoryCache(10_000, 1e6), MemoryCache(10_000, 1e6), MemoryCache(10_000, 1e6))
    return World(conversations, words, keywords, caches, thesauri())


def run(
    chosen: ConversationSet, ports: ConversationPorts, now: str, options: Mapping[str, Any]
) -> dict[str, dict[str, float]]:
    """Rank the sessions for every query."""
    found = {}
    for query in chosen.queries:
        told = asked_at(query) if now == "asked" else None
        moment = chosen.after if told is None else told
        request = ConversationSearch.model_validate({
            "collection": chosen.collection(query.metadata), "query": query.text, "now": moment, "top_n": 10, **options,
        })  # fmt: skip
        found[query.query_id] = {one: 1 / place for place, one in enumerate(ranking(request, ports), start=1)}
    return found


def ranking(request: ConversationSearch, ports: ConversationPorts) -> Sequence[str]:
    """Rank as the flow does."""
    question = understand_question(request, cast("datetime", request.now), ports)
    recalled = recall_candidates(question, ports)
    scored = score_sessions(question, recalled, (), ports)
    chosen = choose_hits(question, rank_sessions(question, recalled, scored, ()))
    return [each.candidate.hit.id for each in chosen]


if __name__ == "__main__":
    sys.exit(main())
