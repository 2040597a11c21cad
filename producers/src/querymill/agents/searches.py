"""The request that searches a collection, for each kind of what it holds, or everything at once."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.expansion import EXPAND_WITHIN_S
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.filters import Retriever
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.search import AnySearch, Search

#: What stands for every kind of every collection that the caller may read, where a collection or a kind is named.
ALL: Final = "all"
AskedKind = Retriever | Literal["all"]
#: Which kind is searched where a collection holds several: the first of these. Messages hold the texts of
#: conversations, and are found by their meaning too.
PREFERRED: Final[Sequence[Retriever]] = ("reports", "messages", "conversations", "files", "modules")
#: A search ends by then with what there is, in seconds.
SEARCH_S: Final = 15.0
#: Hits that a search can return, and how many code documents.
MAX_HITS: Final[Mapping[AskedKind, int]] = {**dict.fromkeys(PREFERRED, 200), "modules": 100, ALL: 100}
#: Kinds whose hits name a place only, or show less of it than who reads them needs.
READ_FOR_TEXT: Final[frozenset[Retriever]] = frozenset(("files", "conversations"))


def preferred(kinds: Sequence[Retriever]) -> Retriever:
    """Return the kind that is searched unless another is asked for."""
    return next(kind for kind in PREFERRED if kind in kinds)


def named_kind(name: str, stored: Mapping[str, Sequence[Retriever]]) -> tuple[str, AskedKind] | None:
    """Return the collection and the kind that ``filings`` or ``filings/reports`` names, None if there is none.

    Args:
        name: A collection, or a collection and a kind, or ``all`` for everything, unless a collection has that name.
        stored: The kinds that each collection holds.
    """
    if name == ALL and ALL not in stored and any(stored.values()):
        return ALL, ALL
    collection, _, named = name.partition("/")
    found = [kind for kind in stored.get(collection, ()) if named in ("", kind)]
    return (collection, preferred(found)) if found else None


def search_of(
    kind: AskedKind,
    collection: str,
    query: str,
    *,
    limit: int,
    conditions: Mapping[str, Any],
    history: Sequence[Turn] = (),
    deadline: float = SEARCH_S,
    expands: bool | None = None,
) -> AnySearch:
    """Make the request that searches a collection, or everything, for so many hits.

    ``history`` are the turns before the question. If it ``expands``, a hypothetical hit and a question that refers back
    are written and searched beside it, within 3 s; if not, nothing is. None leaves that to the defaults of a search.
    A search of everything never does: the chat model would be asked once for each collection.

    Raises:
        pydantic.ValidationError: A field breaks a rule.
    """
    most = min(limit, MAX_HITS[kind])
    asked = {"collection": collection, "query": query, "filter": dict(conditions), "deadline": deadline}
    asked["history"] = tuple(history)
    if expands is not None and kind != ALL:
        asked |= {"hyde": True, "expand_within": EXPAND_WITHIN_S} if expands else {"standalone": False}
    match kind:
        case "all":
            del asked["collection"]
            return Search.model_validate(asked | {"top_k": most})
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
