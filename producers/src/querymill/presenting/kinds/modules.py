"""A code document."""

from querymill.presenting.hit import HitView
from querymill.presenting.places import Place
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult

#: Modules that are named; the others are counted.
_NAMED = 8


def view_of(hit: ModuleDocumentHit, result: ModuleResult) -> HitView:
    """Describe a hit."""
    others = len(hit.modules) - _NAMED
    named = ", ".join(hit.modules[:_NAMED]) + (f" and {others} more" if others > 0 else "")
    return HitView(
        hit,
        hit.file_path,
        Place("modules", result.collection, str(hit.document)),
        key=str(hit.document),
        text="\n".join(part for part in (hit.description, hit.code) if part),
        summary=hit.description,
        facts=(named,) if named else (),
        found_by=tuple(hit.channels),
    )
