"""Messages of very many collections in one PostgreSQL.

One collection of each size is ingested by a worker. The others are copies of its rows, table by table, under names of
their own: what a search reads of a collection lies in pages that no other collection shares, so that copies cost a
search what collections of their own would. Contexts are left out, which only searches with ``include_context`` read.
"""

import io
import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate
from typing import Any, Final

import psycopg
from psycopg import sql

from querymill import Querymill
from querymill.ingesting.jsonl import GoodLine
from querymill.ingesting.kinds import loadable_named
from querymill.ingesting.submitting import ingest, pack
from querymill_workers.words.folder import fold_some
from tests.benchmarks.bench_bm25 import FUNCTION_WORDS, spelled

#: Which share of all messages lies in collections of how many messages.
SIZES: Final[Mapping[int, float]] = {1_000: 0.5, 10_000: 0.4, 50_000: 0.1}
VOCABULARY: Final = 30_000
#: Messages of a session, and words of a message.
MESSAGES, WORDS = (5, 30), (2, 16)
WORDS_PER_QUESTION: Final = 4
#: The tables of a text index, whose rows name the index by its number.
WORD_TABLES: Final = ("word_entries", "word_runs", "word_tail", "word_ranges", "word_blocks")


@dataclass(frozen=True)
class Original:
    """A collection that a worker has ingested, and the texts of its messages."""

    name: str
    texts: Sequence[str]


@cache
def vocabulary() -> tuple[Sequence[str], Sequence[float]]:
    """Return words and their cumulated frequencies: Zipf's law, function words first."""
    words = [*FUNCTION_WORDS, *(spelled(number) for number in range(VOCABULARY - len(FUNCTION_WORDS)))]
    return words, list(accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))


def sessions(size: int) -> Iterator[dict[str, Any]]:
    """Invent chat sessions that have so many messages together, the same each time."""
    chance, left, number = random.Random(size), size, 0
    words, shares = vocabulary()
    while left:
        count = min(chance.randint(*MESSAGES), left)
        day = f"2026-{number % 12 + 1:02d}-{number % 28 + 1:02d}"
        yield {
            "session_id": f"s{number}", "user_name": f"user{number % 50}", "started_at": f"{day}T09:00:00Z",
            "messages": [
                {"message_id": f"s{number}m{place}", "role": ("user", "assistant")[place % 2],
                 "text": " ".join(chance.choices(words, cum_weights=shares, k=chance.randint(*WORDS))),
                 "created_at": f"{day}T09:{place:02d}:00Z"}
                for place in range(count)
            ],
        }  # fmt: skip
        left, number = left - count, number + 1


def ingest_original(mill: Querymill, size: int) -> Original:
    """Have workers ingest a collection of so many messages, with words and vectors, and wait for the end."""
    name, made = f"original{size}", list(sessions(size))
    way = loadable_named("messages").documents
    stream = io.BytesIO("\n".join(map(json.dumps, made)).encode())
    good = (line for line in way.read_stream(stream) if isinstance(line, GoodLine))
    outcomes = [outcome for outcome in ingest(mill, pack(good, way.asking(name))) if outcome.document is not None]
    assert all(outcome.result is not None for outcome in outcomes), [outcome.reason for outcome in outcomes][:3]
    return Original(name, [message["text"] for session in made for message in session["messages"]])


def settle(connection: psycopg.Connection, name: str) -> None:
    """Leave the contexts of a collection out, and fold its words as upkeep does within an hour."""
    connection.execute("SET querymill.across = on")
    indexes = connection.execute("SELECT number, space FROM word_indexes WHERE collection = %s", [name]).fetchall()
    for number, space in indexes:
        if space == "message_contexts":
            for table in WORD_TABLES:
                connection.execute(
                    sql.SQL("DELETE FROM {} WHERE word_index = %s").format(sql.Identifier(table)), [number]
                )
            connection.execute("DELETE FROM word_indexes WHERE number = %s", [number])
            continue
        while fold_some(connection, number):
            connection.commit()
    connection.execute("DELETE FROM chat_passages WHERE collection = %s AND vector_type = 'context'", [name])
    connection.commit()


class Copies:
    """Copies of one collection within its database. Every row is copied but for its collection."""

    def __init__(self, connection: psycopg.Connection, source: str) -> None:
        self._connection = connection
        self._source = source
        connection.execute("SET querymill.across = on")
        # The rows that it would mark are copied as marked.
        connection.execute("ALTER TABLE chat_vectors DISABLE TRIGGER USER")
        self._statements = [*self._of_rows()]
        self._indexes = connection.execute(
            "SELECT number FROM word_indexes WHERE collection = %s ORDER BY number", [source]
        ).fetchall()
        self._word_statements = [self._of_words(table) for table in WORD_TABLES]

    def add(self, name: str) -> None:
        """Copy the collection under a name, in one transaction."""
        values = {"name": name, "source": self._source}
        with self._connection.transaction():
            for statement in self._statements:
                self._connection.execute(statement, values)
            for (number,) in self._indexes:
                row = self._connection.execute(
                    "INSERT INTO word_indexes (collection, space, version, whole, units, length, postings)"
                    " SELECT %(name)s, space, version, whole, units, length, postings FROM word_indexes"
                    " WHERE number = %(number)s RETURNING number",
                    {"name": name, "number": number},
                ).fetchone()
                assert row is not None
                for statement in self._word_statements:
                    self._connection.execute(statement, {"new": row[0], "number": number})

    def _of_rows(self) -> Iterator[sql.Composed]:
        """Write the statement of each table that has rows of the collection; passages before their vectors."""
        found = self._connection.execute(
            "SELECT table_name FROM information_schema.columns JOIN information_schema.tables"
            " USING (table_schema, table_name) WHERE table_schema = current_schema() AND column_name = 'collection'"
            " AND table_type = 'BASE TABLE' AND table_name <> 'word_indexes' ORDER BY table_name"
        ).fetchall()
        for (table,) in found:
            named = sql.Identifier(table)
            has_rows = sql.SQL("SELECT EXISTS (SELECT FROM {} WHERE collection = %s)").format(named)
            if self._connection.execute(has_rows, [self._source]).fetchone() != (True,):
                continue
            columns = sql.SQL(", ").join(map(sql.Identifier, self._columns(table, without="collection")))
            yield sql.SQL(
                "INSERT INTO {table} (collection, {columns}) SELECT %(name)s, {columns} FROM {table}"
                " WHERE collection = %(source)s"
            ).format(table=named, columns=columns)

    def _of_words(self, table: str) -> sql.Composed:
        columns = sql.SQL(", ").join(map(sql.Identifier, self._columns(table, without="word_index")))
        return sql.SQL(
            "INSERT INTO {table} (word_index, {columns}) SELECT %(new)s, {columns} FROM {table}"
            " WHERE word_index = %(number)s"
        ).format(table=sql.Identifier(table), columns=columns)

    def _columns(self, table: str, *, without: str) -> list[str]:
        rows = self._connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_schema = current_schema()"
            " AND table_name = %s AND column_name <> %s AND is_generated = 'NEVER' ORDER BY ordinal_position",
            [table, without],
        ).fetchall()
        return [column for (column,) in rows]


def names(size: int, messages: int) -> list[str]:
    """Name the collections of a size, among so many messages in all."""
    return [f"team{size}-{number}" for number in range(max(1, round(messages * SIZES[size] / size)))]


def questions(originals: Mapping[int, Original], messages: int, count: int, *, zipf: bool) -> list[tuple[str, str]]:
    """Choose a collection and some words of one of its messages, ``count`` times.

    Each size is asked as often as its collections have messages together, so that the same mixture of sizes is asked
    however many collections there are. Of one size, all are asked alike; with ``zipf``, few are asked most.
    """
    chance = random.Random(7)
    known = {size: names(size, messages) for size in originals}
    asked = []
    for size in chance.choices(list(known), weights=[SIZES[size] for size in known], k=count):
        shares = [1 / rank if zipf else 1.0 for rank in range(1, len(known[size]) + 1)]
        (name,) = chance.choices(known[size], weights=shares)
        asked.append((name, _words(chance, chance.choice(originals[size].texts))))
    return asked


def _words(chance: random.Random, text: str) -> str:
    words = text.split()
    return " ".join(chance.sample(words, min(WORDS_PER_QUESTION, len(words))))
