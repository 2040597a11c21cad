"""The request that searches a collection, for each kind of what it holds."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.filters import RESERVED, Retriever
from querymill_shared.contracts.jobs import Search
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.search import ReportSearch

#: Which kind is searched where a collection holds several: the first of these. Messages hold the texts of
#: conversations, and are found by their meaning too.
PREFERRED: Final[Sequence[Retriever]] = ("reports", "messages", "conversations", "files", "modules")
#: The field of a date, for the kinds that have one.
DATES: Final[Mapping[Retriever, str]] = {
    kind: name for kind, fields in RESERVED.items() for name, type_ in fields.items() if type_ != "text"
}
#: A search ends by then with what there is, in seconds.
SEARCH_S: Final = 15.0
#: Hits that a search can return, and how many code documents.
MAX_HITS: Final[Mapping[Retriever, int]] = dict.fromkeys(PREFERRED, 200) | {"modules": 100}


def preferred(kinds: Sequence[Retriever]) -> Retriever:
    """Return the kind that is searched unless another is asked for."""
    return next(kind for kind in PREFERRED if kind in kinds)


def dated(
    kind: Retriever, conditions: Mapping[str, Any], *, since: str | None = None, until: str | None = None
) -> dict[str, Any]:
    """Return a filter with a span of time added to it.

    Raises:
        ValueError: The kind has no date, or the filter has a condition on it already.
    """
    span = {name: value for name, value in (("from", since), ("to", until)) if value is not None}
    if not span:
        return dict(conditions)
    name = DATES.get(kind)
    if name is None:
        raise ValueError(f"since, until: {kind} have no date; leave them out")
    if name in conditions:
        raise ValueError(f"since, until: the filter has a condition on {name} already; give one of them")
    return dict(conditions) | {name: span}


def search_of(
    kind: Retriever,
    collection: str,
    query: str,
    *,
    limit: int,
    conditions: Mapping[str, Any],
    deadline: float = SEARCH_S,
) -> Search:
    """Make the request that searches a collection for so many hits.

    Raises:
        pydantic.ValidationError: A field breaks a rule.
    """
    most = min(limit, MAX_HITS[kind])
    asked = {"collection": collection, "query": query, "filter": dict(conditions), "deadline": deadline}
    match kind:
        case "reports":
            return ReportSearch.model_validate(asked | {"top_n": most})
        case "messages":
            return MessageSearch.model_validate(asked | {"limit": most})
        case "conversations":
            return ConversationSearch.model_validate(asked | {"top_n": most})
        case "modules":
            fields = {"top_k": most, "candidates": max(50, most), "prompt_tokens": 0}
            return ModuleSearch.model_validate(asked | fields)
        case "files":
            return FileSearch.model_validate(asked | {"top_n": most, "context_budget": 0})
