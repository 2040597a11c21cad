"""The hits of any kind in one form: what a library's document is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from querymill.presenting.fields import fields_of
from querymill.presenting.hit import HitView, views_of
from querymill_shared.contracts.files.search import FileHit
from querymill_shared.contracts.search import AnySearchResult, SearchResult

#: Files as ingestion reads them, by their collections and paths.
Files = Mapping[tuple[str, str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class RetrievedPassage:
    """A hit. ``id`` is unique among the passages of all collections; ``document`` is the id of what it is a part of.

    ``metadata`` holds JSON values: what was ingested with the document, over it the fields of the hit that have a value
    (``page``, ``title`` …), and over these ``kind``, ``collection``, ``document``, and ``degraded``: what the search
    lacked, as a list of ``stage`` and ``reason``, empty if it is complete.
    """

    id: str
    document: str
    text: str
    score: float
    metadata: dict[str, Any]


def passages_of(result: AnySearchResult, files: Files) -> list[RetrievedPassage]:
    """Return the hits of a result, best first.

    Args:
        result: What a search found.
        files: Those that `files_to_read` names. A hit whose file is missing, for it was dropped, is left out.
    """
    degraded = [{"stage": part.stage, "reason": part.reason} for part in result.degraded]
    found = [(view, *_stored_in(view, result)) for view in views_of(result)]
    return [
        _passage(view, {"kind": kind, "collection": collection, "degraded": degraded}, files)
        for view, kind, collection in found
        if not isinstance(view.hit, FileHit) or (collection, view.hit.path) in files
    ]


def files_to_read(result: AnySearchResult) -> list[tuple[str, str]]:
    """Return the collections and the paths of the files whose lines a result names but does not hold."""
    return [(_stored_in(view, result)[1], view.hit.path) for view in views_of(result) if isinstance(view.hit, FileHit)]


def _stored_in(view: HitView, result: AnySearchResult) -> tuple[str, str]:
    """Return the kind and the collection of a hit."""
    if isinstance(result, SearchResult):
        assert view.joint is not None  # noqa: S101  # a hit of such a search says of which kind it is
        return view.joint.kind, view.joint.collection
    return result.kind, result.collection


def _passage(view: HitView, common: Mapping[str, Any], files: Files) -> RetrievedPassage:
    document, text = view.key if view.place is None else view.place.document, view.text
    shown, stored = fields_of(view.hit), view.hit.metadata or {}
    if isinstance(view.hit, FileHit):
        shown["file_kind"] = view.hit.kind  # "kind" is the retriever's, for every passage
        text = _excerpt(view.hit, str(files[common["collection"], view.hit.path].get("content", "")))
    return RetrievedPassage(
        id=f"{common['kind']}:{common['collection']}/{document}{view.part}",
        document=document,
        text=text,
        score=view.hit.score if view.score is None else view.score,
        metadata={**stored, **shown, "document": document, **common},
    )


def _excerpt(hit: FileHit, content: str) -> str:
    """Return the lines of a file that are most relevant, or all of them."""
    lines = content.splitlines()
    cuts = ["\n".join(lines[span.first - 1 : span.last]) for span in hit.excerpt]
    return "\n…\n".join(cuts) if cuts else content
