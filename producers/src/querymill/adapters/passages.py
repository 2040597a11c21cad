"""The hits of any kind in one form: what a library's document is made of."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from querymill_shared.contracts.conversations.search import ConversationHit
from querymill_shared.contracts.fields import Contract
from querymill_shared.contracts.files.search import FileHit
from querymill_shared.contracts.jobs import SearchResult
from querymill_shared.contracts.messages.search import MessageHit
from querymill_shared.contracts.modules.search import ModuleDocumentHit
from querymill_shared.contracts.reports.search import ReportHit

#: Documents by their ids, as ingestion reads them.
Documents = Mapping[str, Mapping[str, Any]]

#: Fields of hits that a passage has elsewhere, or that are long: a job's own result has them all.
_LEFT_OUT: Final = frozenset({
    "text", "content", "snippet", "code", "description", "score", "rerank_score", "metadata", "explanation",
    "match_explanation", "channels", "marks", "document",
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Passage:
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


def passages_of(result: SearchResult, documents: Documents) -> list[Passage]:
    """Return the hits of a result, best first.

    Args:
        result: What a search found.
        documents: The files that `files_to_read` names. A hit whose file is missing, for it was dropped, is left out.
    """
    degraded = [{"stage": part.stage, "reason": part.reason} for part in result.degraded]
    common = {"kind": result.kind, "collection": result.collection, "degraded": degraded}
    return [
        _passage(hit, common, documents)
        for hit in result.results
        if not isinstance(hit, FileHit) or hit.path in documents
    ]


def files_to_read(result: SearchResult) -> list[str]:
    """Return the paths of the files whose lines a result names but does not hold."""
    return [hit.path for hit in result.results if isinstance(hit, FileHit)]


def _passage(hit: Contract, common: Mapping[str, Any], documents: Documents) -> Passage:
    document, part, text = _parts(hit, documents)
    fields = hit.model_dump(mode="json", exclude_none=True)
    shown = {name: value for name, value in fields.items() if name not in _LEFT_OUT}
    if isinstance(hit, FileHit):
        shown["file_kind"] = hit.kind  # "kind" is the retriever's, for every passage
    return Passage(
        id=f"{common['kind']}:{common['collection']}/{document}{part}",
        document=document,
        text=text,
        score=fields["score"],
        metadata={**fields.get("metadata", {}), **shown, "document": document, **common},
    )


def _parts(hit: Contract, documents: Documents) -> tuple[str, str, str]:
    """Return the id of a hit's document, which part of it the hit is, and the text."""
    match hit:
        case ReportHit():
            return hit.document, f"#{'p' if hit.unit == 'page' else 'c'}{hit.number}", hit.text
        case MessageHit():
            return hit.session_id, f"#{hit.vector_id}", hit.content
        case ConversationHit():
            return hit.session_id, "", hit.snippet
        case ModuleDocumentHit():
            return str(hit.document), "", "\n".join(part for part in (hit.description, hit.code) if part)
        case FileHit():
            return hit.path, "", _excerpt(hit, str(documents[hit.path].get("content", "")))
        case _:
            raise TypeError(f"{type(hit).__name__}: adapters do not know this kind of hit yet")


def _excerpt(hit: FileHit, content: str) -> str:
    """Return the lines of a file that are most relevant, or all of them."""
    lines = content.splitlines()
    cuts = ["\n".join(lines[span.first - 1 : span.last]) for span in hit.excerpt]
    return "\n…\n".join(cuts) if cuts else content
