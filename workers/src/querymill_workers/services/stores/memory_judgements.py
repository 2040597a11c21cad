"""Judgements in memory: for tests, and to read what the store does without SQL."""

from collections.abc import Collection, Sequence
from datetime import UTC, datetime

from typing_extensions import override

from querymill_shared.contracts.feedback import GiveFeedback, HitJudgement, KeptJudgement
from querymill_shared.contracts.filters import Retriever
from querymill_workers.services.ports import JudgementKey, Judgements, asked_of


class MemoryJudgements(Judgements):
    """`Judgements` without a server, by collection and retriever, and in them by key."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, Retriever], dict[JudgementKey, KeptJudgement]] = {}

    @override
    def keep(self, request: GiveFeedback, judgements: Sequence[HitJudgement]) -> None:
        kept = self._of(request.collection, request.of)
        for judged in judgements:
            kept[JudgementKey(request.job, judged.hit)] = KeptJudgement(
                job=request.job, asked=asked_of(request), at=datetime.now(UTC), **judged.model_dump()
            )

    @override
    def list(
        self, collection: str, retriever: Retriever, *, limit: int, after: JudgementKey | None
    ) -> Sequence[KeptJudgement]:
        kept = self._of(collection, retriever)
        return [kept[key] for key in sorted(kept) if after is None or key > after][:limit]

    @override
    def count(self, collection: str, retriever: Retriever) -> int:
        return len(self._of(collection, retriever))

    @override
    def drop(self, collection: str, retriever: Retriever, documents: Collection[str]) -> None:
        kept = self._of(collection, retriever)
        for key, judged in list(kept.items()):
            if judged.document in documents:
                del kept[key]

    @override
    def drop_all(self, collection: str, retriever: Retriever) -> None:
        self._kept.pop((collection, retriever), None)

    def _of(self, collection: str, retriever: Retriever) -> dict[JudgementKey, KeptJudgement]:
        return self._kept.setdefault((collection, retriever), {})
