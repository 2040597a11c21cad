"""What the steps that write leave on the board, and the branches that follow from it."""

from collections.abc import Mapping
from typing import Any, Final

from querymill_shared.board import Picture
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.kinds import LIMITS, KindSearch
from querymill_workers.jobs.notes import StepNotes

#: A branch finds at least so many hits, so that the join sees beyond those that are returned.
DEPTH: Final = 20
#: Fields of a search that ask for a text joined from its hits.
_JOINED_TEXTS: Final = ("prompt_tokens",)


class WrittenNotes(StepNotes):
    """The texts that a step has written. Each is searched in a branch of its own."""

    texts: tuple[str, ...] = ()


def texts_by_branch(picture: Picture, request: KindSearch) -> Mapping[str, str]:
    """Return what each branch beside the original searches, as the steps that have ended wrote it.

    The second text of ``variant`` is searched in the branch ``variant/2``.
    """
    return {
        f"{step.name}/{place}": text
        for step in picture.steps
        if step.name in request.expansions and step.state == "done"
        for place, text in enumerate(WrittenNotes.of(step).texts, start=1)
    }


def search_in(branch: str, text: str, request: Any) -> Any:
    """Return the search that a branch is: of the question as it stands, or of a text that was written beside it.

    No text is joined from the hits of a branch, and an absence is explained by the original.
    """
    changed: dict[str, Any] = {"hyde": False, "multi_query": (), "standalone": False}
    changed |= {name: 0 for name in _JOINED_TEXTS if hasattr(request, name)}
    for name in LIMITS:
        if (limit := getattr(request, name, None)) is not None:
            changed[name] = max(limit, min(DEPTH, getattr(request, "candidates", DEPTH) or DEPTH))
    if branch != ORIGINAL:
        changed |= {"query": text, "history": (), "why_not": None}
    return request.model_copy(update=changed)
