"""The stores in this process: for unit tests, and to read what a store does without SQL."""

import threading
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from querymill_shared.contracts.reports import Report
from querymill_workers.domain import bm25
from querymill_workers.domain.chunking import Chunk
from querymill_workers.domain.fusion import HitKey
from querymill_workers.domain.routing import ReportCard
from querymill_workers.domain.words import WORDS_VERSION, words
from querymill_workers.ports import (
    ContentHash,
    FoundPassage,
    PassageText,
    Refused,
    Revision,
    TextVector,
    Unavailable,
    Vectors,
    WordHit,
    WordUnit,
)

_Place = tuple[str, str]


class MemoryReports:
    """`Reports` without a server; exact search over every vector."""

    def __init__(self) -> None:
        self._published: dict[_Place, tuple[Report, Revision, str]] = {}
        self._drafts: dict[tuple[str, str, Revision], dict[int, tuple[Chunk, npt.NDArray[np.float32]]]] = {}
        self._lock = threading.RLock()

    def cards(self, collection: str, *, model: str) -> Sequence[ReportCard]:
        """See `Reports.cards`."""
        with self._lock:
            found = [
                report
                for (name, _), (report, _, of_model) in self._published.items()
                if name == collection and of_model == model
            ]
        return sorted((_card(report) for report in found), key=lambda card: card.sha1)

    def search(
        self,
        collection: str,
        queries: Mapping[str, npt.NDArray[np.float32]],
        *,
        model: str,
        documents: Sequence[str],
        depth: int,
        per_document: bool,
        pages: bool,
    ) -> list[FoundPassage]:
        """See `Reports.search`."""
        searchable = {card.sha1 for card in self.cards(collection, model=model)}.intersection(documents)
        groups = [{document} for document in sorted(searchable)] if per_document else [searchable]
        return [
            passage
            for query, vector in queries.items()
            for group in groups
            for passage in self._ranked(collection, query, vector, group, pages=pages)[:depth]
        ]

    def _ranked(
        self, collection: str, query: str, vector: npt.NDArray[np.float32], documents: set[str], *, pages: bool
    ) -> list[FoundPassage]:
        with self._lock:
            found = [
                FoundPassage(query, document, chunk.page, chunk.number, float(embedding @ vector))
                for document in documents
                for chunk, embedding in self._passages(collection, document).values()
            ]
        ranked = sorted(found, key=lambda hit: (-hit.inner_product, hit.document, hit.number))
        if not pages:
            return ranked
        best = {(hit.document, hit.page): hit for hit in reversed(ranked)}
        return [hit for hit in ranked if best[hit.document, hit.page] is hit]

    def _passages(self, collection: str, document: str) -> dict[int, tuple[Chunk, npt.NDArray[np.float32]]]:
        _, revision, _ = self._published[collection, document]
        return self._drafts[collection, document, revision]

    def texts(self, collection: str, keys: Sequence[HitKey]) -> Mapping[HitKey, PassageText]:
        """See `Reports.texts`."""
        with self._lock:
            known = [key for key in keys if (collection, key.document) in self._published]
            return {key: text for key in known if (text := self._text(collection, key)) is not None}

    def _text(self, collection: str, key: HitKey) -> PassageText | None:
        report, _, _ = self._published[collection, key.document]
        if key.unit == "page":
            pages = {page.page: page.text for page in report.pages}
            return PassageText(key, key.number, pages[key.number], _card(report)) if key.number in pages else None
        passages = self._passages(collection, key.document)
        if key.number not in passages:
            return None
        chunk, _ = passages[key.number]
        return PassageText(key, chunk.page, chunk.text, _card(report))

    def revision(self, collection: str, document: str) -> Revision | None:
        """See `Reports.revision`."""
        published = self._published.get((collection, document))
        return None if published is None else published[1]

    def drafted(self, collection: str, document: str, revision: Revision) -> set[int]:
        """See `Reports.drafted`."""
        return set(self._drafts.get((collection, document, revision), {}))

    def draft(
        self, collection: str, document: str, revision: Revision, chunks: Sequence[Chunk], vectors: Vectors
    ) -> None:
        """See `Reports.draft`."""
        with self._lock:
            draft = self._drafts.setdefault((collection, document, revision), {})
            for chunk, vector in zip(chunks, vectors, strict=True):
                draft.setdefault(chunk.number, (chunk, vector))

    def publish(self, collection: str, report: Report, revision: Revision, *, model: str, chunks: int) -> None:
        """See `Reports.publish`."""
        with self._lock:
            if len(self._drafts.get((collection, report.sha1, revision), {})) != chunks:
                raise Unavailable("another version of the report was published meanwhile")
            self._published[collection, report.sha1] = (report, revision, model)
            place = (collection, report.sha1)
            self._drafts = {key: draft for key, draft in self._drafts.items() if key[:2] != place or key[2] == revision}
            self._drafts.setdefault((*place, revision), {})

    def collections(self) -> Sequence[str]:
        """See `Reports.collections`."""
        return sorted({collection for collection, _ in self._published})


@dataclass(slots=True)
class _Space:
    """The units of a space as one tokeniser made it: their group and words by their id; searched once it is whole."""

    whole: bool
    units: dict[str, tuple[str, Counter[str]]] = field(default_factory=dict)


class MemoryWords:
    """`Words` without a server: every unit is scored, one after the other."""

    def __init__(self) -> None:
        #: By collection, space and version of the tokeniser.
        self._spaces: dict[tuple[str, str, int], _Space] = {}
        self._lock = threading.RLock()

    def put(self, collection: str, space: str, units: Sequence[WordUnit]) -> None:
        """See `Words.put`."""
        counted = {unit.id: (unit.group, Counter(words(unit.text))) for unit in units}
        with self._lock:
            self._own(collection, space).units.update(counted)

    def refill(self, collection: str, space: str, units: Sequence[WordUnit]) -> None:
        """See `Words.refill`."""
        with self._lock:
            known = self._own(collection, space).units
            self.put(collection, space, [unit for unit in units if unit.id not in known])

    def publish(self, collection: str, space: str) -> None:
        """See `Words.publish`."""
        with self._lock:
            own = self._own(collection, space)
            own.whole = True
            self.clear(collection, space)
            self._spaces[collection, space, WORDS_VERSION] = own

    def drop(self, collection: str, space: str, ids: Sequence[str]) -> None:
        """See `Words.drop`."""
        with self._lock:
            for place in self._versions(collection, space):
                for id_ in ids:
                    self._spaces[place].units.pop(id_, None)

    def clear(self, collection: str, space: str) -> None:
        """See `Words.clear`."""
        with self._lock:
            for place in self._versions(collection, space):
                del self._spaces[place]

    def search(
        self, collection: str, space: str, text: str, *, most: int, groups: Sequence[str] | None = None
    ) -> list[WordHit]:
        """See `Words.search`."""
        asked = Counter(words(text))
        if not asked or most < 1:
            return []
        with self._lock:
            if self.stale(collection, space):
                raise Refused(f"{collection}/{space}: made by another tokeniser; reindex the collection")
            units = dict(self._spaces.get((collection, space, WORDS_VERSION), _Space(whole=True)).units)
        statistics = bm25.Statistics(len(units), sum(counts.total() for _, counts in units.values()))
        terms = [
            bm25.QueryTerm(term, times, sum(term in counts for _, counts in units.values()))
            for term, times in asked.items()
        ]
        scores = {
            id_: bm25.score(counts, counts.total(), terms=terms, statistics=statistics)
            for id_, (group, counts) in units.items()
            if (groups is None or group in groups) and not counts.keys().isdisjoint(asked)
        }
        hits = [WordHit(id_, scored.score, scored) for id_, scored in scores.items()]
        return sorted(hits, key=lambda hit: (-hit.score, hit.id))[:most]

    def near(self, collection: str, space: str, terms: Sequence[str]) -> Mapping[str, Sequence[str]]:
        """See `Words.near`."""
        with self._lock:
            own = self._spaces.get((collection, space, WORDS_VERSION), _Space(whole=True))
            known = {term for _, counts in own.units.values() for term in counts}
        return {
            term: sorted(one for one in known if one[0] == term[0] and abs(len(one) - len(term)) <= 2)
            for term in terms
            if term not in known
        }

    def stale(self, collection: str, space: str) -> bool:
        """See `Words.stale`."""
        versions = self._versions(collection, space)
        own = self._spaces.get((collection, space, WORDS_VERSION))
        return bool(versions) and (own is None or not own.whole)

    def _own(self, collection: str, space: str) -> _Space:
        """Return the space as this tokeniser makes it; a new one is whole if no other made one."""
        new = _Space(whole=not self._versions(collection, space))
        return self._spaces.setdefault((collection, space, WORDS_VERSION), new)

    def _versions(self, collection: str, space: str) -> list[tuple[str, str, int]]:
        return [place for place in self._spaces if place[:2] == (collection, space)]


def _card(report: Report) -> ReportCard:
    return ReportCard(
        report.sha1, report.title, report.company, tuple(report.aliases), report.period, report.published_at
    )


class MemoryTextVectors:
    """`TextVectors` without a server; ``rows`` are by collection, text and model."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str, str], TextVector] = {}

    def stored(self, collection: str, text_ids: Sequence[str], *, model: str) -> Mapping[str, ContentHash]:
        """See `TextVectors.stored`."""
        found = {text_id: self.rows.get((collection, text_id, model)) for text_id in text_ids}
        return {text_id: row.content for text_id, row in found.items() if row is not None}

    def store(self, collection: str, vectors: Sequence[TextVector], *, model: str) -> None:
        """See `TextVectors.store`."""
        for vector in vectors:
            known = self.rows.get((collection, vector.text_id, model))
            if known is None or known.content != vector.content:
                self.rows[collection, vector.text_id, model] = vector
