"""A file of a code base."""

from querymill.presenting.hit import HitView
from querymill.presenting.places import Place, PlaceSpan
from querymill_shared.contracts.files.search import FileHit, FileResult

#: Ranges of lines that are named.
_NAMED = 4


def view_of(hit: FileHit, result: FileResult) -> HitView:
    """Describe a hit. Its text is in the stored file alone."""
    span = PlaceSpan(hit.excerpt[0].first, hit.excerpt[0].last) if hit.excerpt else None
    lines = ", ".join(f"{part.first}–{part.last}" for part in hit.excerpt[:_NAMED])
    facts = (hit.band, f"round {hit.round}", f"lines {lines}" if lines else "", f"{hit.tokens:,} tokens")
    return HitView(
        hit,
        hit.path,
        Place("files", result.collection, hit.path, span),
        where="" if span is None else f"lines {span}",
        key=hit.path,
        summary=hit.why,
        facts=tuple(fact for fact in facts if fact),
        found_by=hit.found_by,
    )
