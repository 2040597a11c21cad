"""What the steps that write leave on the board, and the branches that follow from it."""

from collections.abc import Mapping
from typing import Any, Final

from querymill_shared.board import Picture
from querymill_shared.branches import ORIGINAL
from querymill_shared.contracts.kinds import KindSearch, limit_of
from querymill_workers.jobs.notes import StepNotes

#: A branch finds at least so many hits, so that the join sees beyond those that are returned.
DEPTH: Final = 20
#: What a branch leaves out, where its kind has it: the prompt is joined from the hits of all branches.
_OF_ALL: Final[Mapping[str, Any]] = {"hyde": False, "multi_query": (), "standalone": False, "prompt_tokens": 0}
#: What belongs to the words of the question, and not to those of a text that was written beside it.
_OF_QUESTION: Final[Mapping[str, Any]] = {
    "history": (), "why_not": None, "sub_queries": (), "split": False, "patterns": (), "globs": (),
    "time_filter": False,
}  # fmt: skip


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


def search_in(branch: str, text: str, request: KindSearch) -> KindSearch:
    """Return the search that a branch is: of the question as it stands, or of a text that was written beside it."""
    is_original = branch == ORIGINAL
    changed = dict(_OF_ALL) if is_original else {**_OF_ALL, **_OF_QUESTION, "query": text}
    limit = getattr(request, name := limit_of(type(request)))
    if limit is not None and not (is_original and request.why_not is not None):  # an absence is explained as asked
        changed[name] = max(limit, min(DEPTH, getattr(request, "candidates", DEPTH) or DEPTH))
    known = type(request).model_fields
    return request.model_copy(update={name: value for name, value in changed.items() if name in known})
