"""The references of one collection in PostgreSQL, within one transaction."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import psycopg
from typing_extensions import override

from querymill_workers.postgres.queries import statements
from querymill_workers.retrievers.conversations.ports.ranks import RankMode, ReferenceGraph
from querymill_workers.retrievers.conversations.rules.page_rank import page_ranks
from querymill_workers.retrievers.conversations.rules.rank import REFERENCES
from querymill_workers.retrievers.conversations.rules.references import EXPLICIT, IMPLICIT, Near, Reference
from querymill_workers.retrievers.conversations.rules.session_facts import SessionFacts

_SQL: Final = statements("querymill_workers.retrievers.conversations.stores", "postgres_ranks.sql")

#: The weights of references, as parameters of the statements.
WEIGHTS = {"explicit": EXPLICIT, "implicit": IMPLICIT, "full": REFERENCES}


class PostgresGraph(ReferenceGraph):
    """`ReferenceGraph` on PostgreSQL."""

    def __init__(self, connection: psycopg.Connection, collection: str) -> None:
        self._connection = connection
        self._place = {"collection": collection}
        row = connection.execute(_SQL["rank_state"], self._place).fetchone()
        self._version, self._mode = row or (0, "count")
        self._generations: dict[str, int] = {}
        self._counted: set[str] = set()
        self._leading: dict[str, list[int]] = {}
        self._updated: list[str] = []

    @property
    @override
    def mode(self) -> RankMode:
        mode: RankMode = self._mode
        return mode

    @override
    def changed(self, *, limit: int) -> Sequence[str]:
        rows = self._execute("rank_changes", limit=limit).fetchall()
        self._generations.update(rows)
        return [id_ for id_, _ in rows]

    @override
    def facts(self, session_id: str) -> SessionFacts | None:
        row = self._execute("rank_facts", session_id=session_id).fetchone()
        if row is None:
            return None
        id_, started_at, last_active, messages, keywords, solved, explicit, phrases, leading = row
        self._leading[id_] = leading
        return SessionFacts(
            id_, started_at, last_active, messages, keywords, solved, explicit, key_phrases=frozenset(phrases)
        )

    def near(self, session: SessionFacts) -> Sequence[Near]:
        """See `ReferenceGraph.near`. Only the sessions that the index cannot rule out are fetched and compared."""
        phrases = sorted(session.key_phrases)
        statement = "rank_near_explicit" if session.explicit else "rank_near"
        asked = {"phrases": phrases, "leading": self._leading.get(session.session_id, phrases), "size": len(phrases)}
        numbers = [number for (number,) in self._execute(statement, **asked)]
        return [
            Near(id_, started_at, len(its), explicit, len(session.key_phrases.intersection(its)))
            for id_, started_at, explicit, its in self._execute("rank_candidates", numbers=numbers)
            if id_ != session.session_id
        ]

    @override
    def references(self, session_id: str) -> Sequence[Reference]:
        return [Reference(*row) for row in self._execute("rank_references", session_id=session_id)]

    @override
    def explicit(self, sources: Sequence[str]) -> Mapping[str, Reference]:
        if not sources:
            return {}
        return {row[0]: Reference(*row) for row in self._execute("rank_explicit", sources=list(sources))}

    @override
    def replace(self, gone: Iterable[Reference], new: Iterable[Reference]) -> None:
        for statement, some in (("drop_references", list(gone)), ("add_references", list(new))):
            if some:
                self._execute(statement, **reference_columns(some))

    def count(self, targets: Iterable[str]) -> None:
        """See `ReferenceGraph.count`. It is done when the graph is closed, and so is PageRank, over all sessions."""
        self._counted.update(targets)

    @override
    def mark_updated(self, session_ids: Sequence[str]) -> None:
        self._updated += session_ids

    def close(self) -> None:
        """Count the update, raise the generation if any session was updated, and write what the update has found.

        Writers of sessions lock the generation before the rows of ranks and changes. It is locked first here, too, so
        that none of them deadlocks, and as late as can be, as they wait for it.
        """
        self._execute("count_update", changes=1 if self._updated else 0)
        if self._counted:
            self._execute("count_references", targets=sorted(self._counted), **WEIGHTS)
            if self._mode == "pagerank":
                put_page_ranks(self._connection, str(self._place["collection"]), self._version)
        if self._updated:
            generations = [self._generations[id_] for id_ in self._updated]
            self._execute("settle_changes", session_ids=self._updated, generations=generations)
            self._execute("forget_changes")

    def _execute(self, statement: str, **values: Any) -> psycopg.Cursor:
        return self._connection.execute(_SQL[statement], {**self._place, "version": self._version, **values})


def put_page_ranks(connection: psycopg.Connection, collection: str, version: int) -> None:
    """Store PageRank as the reference parts, in place of the counts."""
    values: dict[str, Any] = {"collection": collection, "version": version}
    ids = [id_ for (id_,) in connection.execute(_SQL["rank_ids"], values)]
    pages = page_ranks(ids, [Reference(*row) for row in connection.execute(_SQL["all_references"], values)])
    given = {"session_ids": list(pages), "references": list(pages.values())}
    connection.execute(_SQL["put_page_ranks"], values | given)


def reference_columns(references: Sequence[Reference]) -> dict[str, list[Any]]:
    """Return references by column, as ``unnest`` takes them."""
    return {
        "sources": [reference.source for reference in references],
        "targets": [reference.target for reference in references],
        "kinds": [reference.kind for reference in references],
        "shared": [reference.shared for reference in references],
        "sizes": [reference.size for reference in references],
    }
