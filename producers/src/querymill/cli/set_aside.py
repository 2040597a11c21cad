"""``querymill status --set-aside``: the texts that a provider refused."""

from collections.abc import Iterator, Sequence
from contextlib import closing

from rich.table import Table

from querymill.client.mill import Querymill
from querymill.ingesting.kinds import KINDS
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.set_aside import ListSetAside, RefusedText
from querymill_shared.settings import Settings

#: How long a worker is waited for, in seconds.
TIMEOUT_S = 60.0


def refused_texts(settings: Settings, collections: Sequence[str]) -> Iterator[tuple[str, RefusedText]]:
    """Yield every refused text with its collection. If no collection is named, those that workers announced are asked.

    Raises:
        JobEnded: A worker could not list them.
    """
    with Querymill(settings=settings) as mill:
        for collection in collections or announced(settings):
            cursor: str | None = None
            while True:
                request = ListSetAside(collection=collection, limit=200, after=cursor)
                result = mill.submit(request).result(timeout=TIMEOUT_S)
                yield from ((collection, text) for text in result.texts)
                cursor = result.cursor
                if cursor is None:
                    break


def announced(settings: Settings) -> list[str]:
    """Return the collections of every kind."""
    with closing(ValkeyBoard.connect(settings)) as board:
        return sorted(set().union(*(board.collections(kind.name) for kind in KINDS)))


def table_of(texts: Sequence[tuple[str, RefusedText]]) -> Table:
    """Lay refused texts out, a row each."""
    table = Table("collection", "kind", "document", "passage", "model", "reason", "since", box=None)
    for collection, text in texts:
        since = text.at.isoformat(timespec="seconds")
        table.add_row(collection, text.of, text.document, text.passage, text.model, text.reason, since)
    return table
