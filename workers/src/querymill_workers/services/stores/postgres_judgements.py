"""Judgements in PostgreSQL. Each statement names its collection and runs as a role that sees no other."""

from collections.abc import Collection, Sequence
from typing import Final

from psycopg.types.json import Jsonb
from typing_extensions import override

from querymill_shared.contracts.feedback import GiveFeedback, HitJudgement, KeptJudgement
from querymill_shared.contracts.filters import Retriever
from querymill_workers.postgres.connection import Pool, within
from querymill_workers.postgres.queries import statements
from querymill_workers.services.ports import JudgementKey, Judgements, asked_of

_SQL: Final = statements("querymill_workers.services.stores", "judgements.sql")


class PostgresJudgements(Judgements):
    """`Judgements` on PostgreSQL."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    @override
    def keep(self, request: GiveFeedback, judgements: Sequence[HitJudgement]) -> None:
        given = {judged.hit: judged for judged in judgements}
        values = {
            "collection": request.collection,
            "retriever": request.of,
            "job": request.job,
            "asked": Jsonb(dict(asked_of(request))),
            "hits": list(given),
            "documents": [judged.document for judged in given.values()],
            "places": [judged.place for judged in given.values()],
            "relevances": [judged.relevance for judged in given.values()],
            "comments": [judged.comment for judged in given.values()],
        }
        with within(self._pool, request.collection) as connection:
            connection.execute(_SQL["keep_judgements"], values)

    @override
    def list(
        self, collection: str, retriever: Retriever, *, limit: int, after: JudgementKey | None
    ) -> Sequence[KeptJudgement]:
        job, hit = after or (None, None)
        values = {"collection": collection, "retriever": retriever, "limit": limit, "job": job, "hit": hit}
        with within(self._pool, collection) as connection:
            rows = connection.execute(_SQL["list_judgements"], values).fetchall()
        names = ("job", "hit", "document", "place", "asked", "relevance", "comment", "at")
        return [KeptJudgement(**dict(zip(names, row, strict=True))) for row in rows]

    @override
    def count(self, collection: str, retriever: Retriever) -> int:
        with within(self._pool, collection) as connection:
            values = {"collection": collection, "retriever": retriever}
            ((counted,),) = connection.execute(_SQL["count_judgements"], values).fetchall()
        return int(counted)

    @override
    def drop(self, collection: str, retriever: Retriever, documents: Collection[str]) -> None:
        values = {"collection": collection, "retriever": retriever, "documents": list(documents)}
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["drop_judgements"], values)

    @override
    def drop_all(self, collection: str, retriever: Retriever) -> None:
        with within(self._pool, collection) as connection:
            connection.execute(_SQL["clear_judgements"], {"collection": collection, "retriever": retriever})
