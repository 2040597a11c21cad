"""What the search for candidates is asked, and how many hits the whole search returns."""

from typing import Any, Final

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.kinds import limit_of
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.rerank import judge_s, most_judged
from querymill_shared.contracts.search import AnySearch, Search

#: The most files that a round of a search evaluates.
FILES_A_ROUND: Final = 50


def without_judge(request: AnySearch) -> AnySearch:
    """Return a search as it is without a judge."""
    return request.model_copy(update={"rerank": False})


def for_candidates(request: AnySearch) -> AnySearch:
    """Return the search that finds what is judged: deep enough, and over before the judge's share of the deadline.

    Where more hits are returned than judged, it finds those. What is joined from the hits returned is left to the end.
    """
    most = most_judged(request.deadline)
    limit = "top_k" if isinstance(request, Search) else limit_of(type(request))
    deep = max(getattr(request, limit) or 0, most)
    changed: dict[str, Any] = {"rerank": False, "deadline": request.deadline - judge_s(request.deadline), limit: deep}
    if isinstance(request, ModuleSearch):
        changed |= {"candidates": max(request.candidates, deep), "prompt_tokens": 0}
    if isinstance(request, FileSearch):
        changed |= {"candidates": FILES_A_ROUND, "context_budget": 0}
    if isinstance(request, Search):
        changed["group"] = False
    return request.model_copy(update=changed)
