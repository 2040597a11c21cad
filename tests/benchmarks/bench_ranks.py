"""How long ranks take: everything anew at 1,000, 10,000 and 100,000 conversations, and one that changed.

Sessions are generated as their key phrases: 15 to 30 each, one in five of a small vocabulary that everybody uses (the
commonest stands in one session of four), two in five of their project's, the rest of a vocabulary that grows with the
square root of the collection. One session in twenty takes up an earlier one of its project, one in ten says so.
Measured is the work of the jobs with the real database: facts read, references found, stored, ranked, put in force.
The update is that of one edited session among 100,000. All pairs compares sets, in this process, without a database.
"""

import math
import random
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import numpy as np
import psycopg

from querymill_embedded import StackPart, temporary_stack
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.retrievers.conversations.rules.references import leading
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts
from querymill_workers.retrievers.conversations.stores.postgres import PostgresConversations
from querymill_workers.retrievers.conversations.stores.postgres_ranks import PostgresRanks
from tests.benchmarks import harness
from tests.fixtures.conversations import START, Store, all_pairs, draft, settle

SIZES = {"1k": 1_000, "10k": 10_000, "100k": 100_000}
EDITS = 60
#: Sessions of one project, phrases of its own, and phrases that everybody uses.
PROJECT, PROJECT_WORDS, COMMON_WORDS = 50, 60, 5_000
TARGETS = {
    "rebuild_s_100k": ("<", 30.0),
    "growth_exponent": ("<=", 1.3),
    "incremental_p50_ms": ("<=", 20.0),
}


@dataclass(frozen=True)
class Lot:
    """Chooses, the same in every run."""

    random: random.Random
    common: Sequence[float]

    def phrases(self, number: int, project: int, size: int) -> frozenset[int]:
        """Choose the phrases of a session."""
        rare = int(200 * math.sqrt(size))
        found: set[int] = set()
        for _ in range(self.random.randint(15, 30)):
            kind = self.random.random()
            if kind < 0.2:
                found.add(self.random.choices(range(COMMON_WORDS), cum_weights=self.common)[0])
            elif kind < 0.6:
                found.add(10_000 + project * PROJECT_WORDS + self.random.randrange(PROJECT_WORDS))
            else:
                found.add(10_000_000 + self.random.randrange(rare))
        return frozenset(found)


def lot() -> Lot:
    """Begin choosing; common phrases are as frequent as words are: 1 / rank."""
    weights = [1 / (rank + 3) for rank in range(COMMON_WORDS)]
    return Lot(random.Random(2_026), list(np.cumsum(weights)))


def facts(size: int) -> Iterator[SessionFacts]:
    """Invent the sessions of a collection, an hour apart."""
    chosen = lot()
    earlier: dict[int, frozenset[int]] = {}
    projects = max(size // PROJECT, 1)
    for number in range(size):
        project = chosen.random.randrange(projects)
        phrases = chosen.phrases(number, project, size)
        before = earlier.get(project)
        if before is not None and chosen.random.random() < 0.05:
            kept = [phrase for phrase in sorted(before) if chosen.random.random() < 0.8]
            phrases = frozenset([*kept, *list(phrases)[: max(30 - len(kept), 0)]])
        earlier[project] = phrases
        moment = START + timedelta(hours=number)
        explicit = chosen.random.random() < 0.1
        yield SessionFacts(f"s{number:06}", moment, moment, 20, 8, explicit, explicit, phrases)


def fill(connection: psycopg.Connection, collection: str, sessions: Sequence[SessionFacts]) -> None:
    """Write what the store would, without asking for each what was there before."""
    frequency: dict[int, int] = {}
    for one in sessions:
        for phrase in one.key_phrases:
            frequency[phrase] = frequency.get(phrase, 0) + 1
    columns = (
        "collection, session_id, started_at, last_active, times, document, revision, messages, keywords, solved,"
        " explicit, phrases, lead_phrases, facts_version"
    )
    document = draft("s").session.model_dump_json()
    with connection.cursor() as cursor:
        with cursor.copy(f"COPY conversations ({columns}) FROM STDIN") as rows:
            for one in sessions:
                phrases = sorted(one.key_phrases, key=lambda phrase: (frequency[phrase], phrase))
                rows.write_row((
                    collection, one.session_id, one.started_at, one.last_active, [one.started_at],
                    document.replace('"s"', f'"{one.session_id}"', 1), "r", one.messages, one.keywords, one.solved,
                    one.explicit, phrases, phrases[: leading(len(phrases))], "bench",
                ))  # fmt: skip
        cursor.execute(
            "INSERT INTO conversation_phrases (collection, phrase, session, size, leads, explicit)"
            " SELECT collection, phrase, number, cardinality(phrases), place <= cardinality(lead_phrases), explicit"
            " FROM conversations, unnest(phrases) WITH ORDINALITY AS posting (phrase, place) WHERE collection = %s"
            " ORDER BY phrase, number",
            [collection],
        )
        cursor.execute(
            "INSERT INTO conversation_collections (collection, generation, sessions) VALUES (%s, 1, %s)",
            [collection, len(sessions)],
        )


def rebuild(store: Store, collection: str) -> float:
    """Rebuild as the jobs do, one part after the other; return the seconds."""
    began = time.perf_counter()
    store.rebuild(collection, uuid4().hex, parts=RecomputeRanks(collection=collection).parts)
    return time.perf_counter() - began


def incremental(store: Store, collection: str, sessions: Sequence[SessionFacts]) -> float:
    """Edit single sessions, and bring each up to date; return the median of the updates, in milliseconds."""
    chosen, times = random.Random(7), []
    by_project = lot()
    for number in range(EDITS):
        one = chosen.choice(sessions)
        words = by_project.phrases(number, chosen.randrange(len(sessions) // PROJECT), len(sessions))
        swapped = frozenset([*list(one.key_phrases)[:-3], *list(words)[:3]])
        made = draft(one.session_id, f"edited {number}")
        edited = replace(made, facts=replace(one, key_phrases=swapped))
        store.put(collection, edited)
        began = time.perf_counter()
        settle(store, collection)
        times.append(1_000 * (time.perf_counter() - began))
    print(f"incremental p95 {sorted(times)[int(0.95 * len(times))]:.1f} ms", file=sys.stderr)
    return statistics.median(times)


def measure(store: Store, filled: dict[str, tuple[str, list[SessionFacts]]]) -> harness.Figures:
    """Measure every size once."""
    figures: dict[str, Any] = {}
    for name, (collection, sessions) in filled.items():
        figures[f"rebuild_s_{name}"] = rebuild(store, collection)
        if name == "1k":
            began = time.perf_counter()
            pairs = all_pairs(sessions)
            figures["all_pairs_s_1k"] = time.perf_counter() - began
            ids = [one.session_id for one in sessions]
            assert store.stored_ranks(collection, ids)[0] == pairs
    # Of the last step, the steepest: what does not grow would flatten the others.
    figures["growth_exponent"] = math.log10(figures["rebuild_s_100k"] / figures["rebuild_s_10k"])
    figures["incremental_p50_ms"] = incremental(store, *filled["100k"])
    return figures


def main() -> int:
    """Fill the store once, measure as often as asked."""
    with temporary_stack(parts={StackPart.POSTGRES}) as stack:
        url = stack.environment()["DATABASE_URL"]
        migrate(url)
        filled = {}
        began = time.perf_counter()
        with psycopg.connect(url, autocommit=True) as connection:
            # COPY does not go with row-level security, which binds the owner too until it is told not to.
            connection.execute("SET querymill.across = on")
            connection.execute("ALTER TABLE conversations NO FORCE ROW LEVEL SECURITY")
            for name, size in SIZES.items():
                sessions = list(facts(size))
                fill(connection, f"bench-{name}", sessions)
                filled[name] = (f"bench-{name}", sessions)
            connection.execute("ALTER TABLE conversations FORCE ROW LEVEL SECURITY")
            connection.execute("VACUUM ANALYZE")
        print(f"filled in {time.perf_counter() - began:.0f} s", file=sys.stderr)
        with open_pool(url, max_size=4) as pool:
            store = Store(PostgresConversations(pool), PostgresRanks(pool))
            return harness.run("ranks", lambda: measure(store, filled), TARGETS)


if __name__ == "__main__":
    raise SystemExit(main())
