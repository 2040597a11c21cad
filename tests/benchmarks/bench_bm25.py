"""Exact BM25 in PostgreSQL, beside bm25s in memory and PostgreSQL's own `ts_rank`, on the same short messages.

How often words are used follows Zipf's law, and the most frequent ones are English function words, as in real
messages: all three leave those out. A query is some words of one of the messages, rare ones and frequent ones.
`ts_rank` is no BM25; it ranks the same candidates, the messages with any word of the query.
`add_one_ms` is the time until one more message is found: here it is put and searched, the library is built anew.
``--large`` asks a million messages too, and a small collection beside them: `small_beside_large_ratio` is the median
over that of the same collection in a database of its own, asked in turn; 100,000 messages and (`_10k`) 10,000.
"""

import functools
import itertools
import random
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import psycopg

from querymill_embedded import StackPart, temporary_stack
from querymill_workers.postgres.connection import open_pool
from querymill_workers.postgres.migrate import migrate
from querymill_workers.text.words import words as words_of
from querymill_workers.words.ports import WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.benchmarks import harness

if TYPE_CHECKING:
    import bm25s

SIZES = {"100k": 100_000, "1m": 1_000_000}
VOCABULARY, WORDS_PER_MESSAGE, WORDS_PER_QUERY = 50_000, 20, 6
FUNCTION_WORDS = re.findall(
    "[a-z]+",
    "the of and to a in is you that it he was for on are as with his they i at be this have from or had by but not"
    " what all were we when your can there an which she do how their if will up other about out",
)
MESSAGES_PER_SESSION, MOST, QUERIES, ADDED, BATCH = 100, 10, 200, 20, 1_000
SPACE = "messages"
PEER = "bm25s"
TARGETS = {"p50_ms_100k": ("<=", 10.0)}
LARGE_TARGETS = {
    "p50_ms_1m": ("<=", 40.0),
    "small_beside_large_ratio": ("<=", 1.2),
    "small_beside_large_ratio_10k": ("<=", 1.2),
}
SMALL = {"100k": 100_000, "10k": 10_000}

Search = Callable[[str], object]


def main() -> int:
    """Load every size once, then ask all three in turn as often as asked."""
    large = harness.options("bm25").large
    sizes = SIZES if large else {"100k": SIZES["100k"]}
    with temporary_stack(parts={StackPart.POSTGRES}) as stack:
        url = stack.environment()["DATABASE_URL"]
        migrate(url)
        with open_pool(url, max_size=3) as pool, psycopg.connect(url, autocommit=True) as connection:
            words = PostgresWords(pool)
            measures = [load(words, connection, label, size) for label, size in sizes.items()]
            if large:
                measures.append(load_beside(words, connection, url))

            def measure() -> harness.Figures:
                figures: harness.Figures = {}
                for take in measures:
                    figures |= take()
                return figures

            targets = TARGETS | LARGE_TARGETS if large else TARGETS
            return harness.run("bm25", measure, targets, harness.needing(PEER, peer_figures(sizes)))


def peer_figures(labels: Iterable[str]) -> list[str]:
    """Name what is measured of bm25s."""
    return [
        figure
        for label in labels
        for figure in (f"bm25s_p50_ms_{label}", f"bm25s_p99_ms_{label}", f"bm25s_add_one_ms{suffix_of(label)}")
    ]


def suffix_of(label: str) -> str:
    """Say how a figure's name ends that is of one size; the usual size goes without saying."""
    return "" if label == "100k" else f"_{label}"


def load(words: PostgresWords, connection: psycopg.Connection, label: str, size: int) -> Callable[[], harness.Figures]:
    """Store messages in all three; return what measures them."""
    messages = generated(size)
    fill(words, label, messages)
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMPORARY TABLE messages (number integer, text text)")
        with cursor.copy("COPY messages FROM STDIN") as copy:
            for row in enumerate(messages):
                copy.write_row(row)
        cursor.execute(
            f"CREATE TABLE ranked_{label} AS SELECT number, to_tsvector('english', text) AS words FROM messages"
        )
        cursor.execute("DROP TABLE messages")
        cursor.execute(f"CREATE INDEX ON ranked_{label} USING gin (words)")
        # What autovacuum does by itself within a minute of so many rows.
        cursor.execute("VACUUM (ANALYZE)")
    measures = functools.partial(measured, words, connection, label, messages)
    if not harness.is_installed(PEER):
        return measures
    tokens = [words_of(text) for text in messages]
    library = built(tokens)
    return lambda: measures() | beside(library, label, messages, tokens)


def fill(words: PostgresWords, collection: str, messages: Sequence[str]) -> None:
    """Put messages, and have them folded as the upkeep of a worker does."""
    for start in range(0, len(messages), BATCH):
        numbers = range(start, min(start + BATCH, len(messages)))
        words.put(collection, SPACE, [unit(number, messages[number]) for number in numbers])
    while words.tidy():
        pass


def load_beside(words: PostgresWords, connection: psycopg.Connection, url: str) -> Callable[[], harness.Figures]:
    """Store small collections beside the large one, and in a database of their own; return what compares them."""
    connection.execute("CREATE DATABASE alone")
    own = f"{url.rsplit('/', 1)[0]}/alone"
    migrate(own)
    messages = {label: generated(size) for label, size in SMALL.items()}
    with open_pool(own, max_size=3) as pool:
        for label, texts in messages.items():
            fill(PostgresWords(pool), f"small {label}", texts)
            fill(words, f"small {label}", texts)
    for place in (url, own):
        with psycopg.connect(place, autocommit=True) as vacuuming:
            vacuuming.execute("VACUUM (ANALYZE)")

    def compare() -> harness.Figures:
        with open_pool(own, max_size=3) as pool:
            alone = PostgresWords(pool)
            return {
                f"small_beside_large_ratio{suffix_of(label)}": ratio(words, alone, f"small {label}", asked(texts))
                for label, texts in messages.items()
            }

    return compare


def ratio(beside: PostgresWords, alone: PostgresWords, collection: str, queries: Sequence[str]) -> float:
    """Ask two databases in turn; return the ratio of their medians."""
    taken: dict[PostgresWords, list[float]] = {beside: [], alone: []}
    for query in [*queries[:20], *queries]:
        for words, times in taken.items():
            times.append(milliseconds(functools.partial(words.search, collection, SPACE, query, limit=MOST)))
    return statistics.median(taken[beside][20:]) / statistics.median(taken[alone][20:])


def measured(
    words: PostgresWords,
    connection: psycopg.Connection,
    label: str,
    messages: Sequence[str],
) -> harness.Figures:
    """Take every figure of ours and of PostgreSQL's at one size once."""
    queries = asked(messages)
    sessions = itertools.cycle(range(len(messages) // MESSAGES_PER_SESSION))
    figures = percentiles("", label, queries, lambda text: words.search(label, SPACE, text, limit=MOST))
    figures |= percentiles(
        "filtered_", label, queries,
        lambda text: words.search(label, SPACE, text, limit=MOST, groups=[f"session {next(sessions)}"]),
    )  # fmt: skip
    figures |= percentiles("ts_rank_", label, queries, lambda text: by_ts_rank(connection, label, text))
    times = [added(words, label, messages[number]) for number in range(ADDED)]
    return figures | {f"add_one_ms{suffix_of(label)}": statistics.median(times)}


def beside(library: "bm25s.BM25", label: str, messages: Sequence[str], tokens: Sequence[list[str]]) -> harness.Figures:
    """Take every figure of bm25s at one size once."""
    figures = percentiles("bm25s_", label, asked(messages), lambda text: by_library(library, words_of(text)))
    taken = milliseconds(lambda: by_library(built([*tokens, ["new"]]), ["new"]))
    return figures | {f"bm25s_add_one_ms{suffix_of(label)}": taken}


def percentiles(peer: str, label: str, queries: Sequence[str], search: Search) -> harness.Figures:
    """Ask every query once, after some to warm up."""
    for query in queries[:20]:
        search(query)
    taken = [milliseconds(functools.partial(search, query)) for query in queries]
    return {
        f"{peer}p50_ms_{label}": statistics.median(taken),
        f"{peer}p99_ms_{label}": statistics.quantiles(taken, n=100)[98],
    }


def added(words: PostgresWords, label: str, text: str) -> float:
    """Put one more message, and search until it is found; it is taken away again."""
    new = WordUnit("new", f"{text} brandnew", "session new")

    def find() -> None:
        words.put(label, SPACE, [new])
        if [hit.id for hit in words.search(label, SPACE, "brandnew", limit=MOST)] != ["new"]:
            raise LookupError("an added message is not found")

    taken = milliseconds(find)
    words.drop(label, SPACE, ["new"])
    return taken


def built(tokens: Sequence[list[str]]) -> "bm25s.BM25":
    """Build the library's index from words that are made already."""
    import bm25s

    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(tokens, show_progress=False)
    return index


def by_library(index: "bm25s.BM25", terms: list[str]) -> object:
    """Search in memory, on the same words."""
    return index.retrieve([terms], k=MOST, show_progress=False)


def by_ts_rank(connection: psycopg.Connection, label: str, text: str) -> object:
    """Rank the messages that have any of the words."""
    statement = (
        f"SELECT number FROM ranked_{label}, to_tsquery('english', %s) AS query"
        f" WHERE words @@ query ORDER BY ts_rank(words, query) DESC, number LIMIT {MOST}"
    )
    return connection.execute(statement, [" | ".join(text.split())]).fetchall()


def generated(size: int) -> list[str]:
    """Write messages of function words and made-up ones, the same each time."""
    chance = random.Random(size)
    vocabulary = [*FUNCTION_WORDS, *map(spelled, range(VOCABULARY - len(FUNCTION_WORDS)))]
    shares = list(itertools.accumulate(1 / rank for rank in range(1, VOCABULARY + 1)))
    return [" ".join(chance.choices(vocabulary, cum_weights=shares, k=WORDS_PER_MESSAGE)) for _ in range(size)]


def spelled(number: int) -> str:
    """Spell a number in syllables: a word that no rule of English changes."""
    syllables = [f"{consonant}{vowel}" for consonant in "bdfgkmnprtvz" for vowel in "aou"]
    word = ""
    while number or not word:
        number, place = divmod(number, len(syllables))
        word += syllables[place]
    return f"{word}k"


def asked(messages: Sequence[str]) -> list[str]:
    """Choose queries: some words of messages."""
    chance = random.Random(7)
    return [" ".join(chance.sample(text.split(), WORDS_PER_QUERY)) for text in chance.sample(messages, QUERIES)]


def unit(number: int, text: str) -> WordUnit:
    """Place a message in its session."""
    return WordUnit(f"message {number}", text, f"session {number // MESSAGES_PER_SESSION}")


def milliseconds(run: Callable[[], object]) -> float:
    """Time one call."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
