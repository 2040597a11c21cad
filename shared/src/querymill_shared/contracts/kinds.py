"""The search of each kind, its result and its hits. A new retriever joins them here."""

from collections.abc import Mapping
from typing import Any, Final, get_args

from querymill_shared.contracts.conversations.search import ConversationHit, ConversationResult, ConversationSearch
from querymill_shared.contracts.fields import Contract
from querymill_shared.contracts.files.search import FileHit, FileResult, FileSearch
from querymill_shared.contracts.messages.search import MessageHit, MessageResult, MessageSearch
from querymill_shared.contracts.modules.search import ModuleDocumentHit, ModuleResult, ModuleSearch
from querymill_shared.contracts.reports.search import ReportHit, ReportResult, ReportSearch

#: Searches of one kind. A search of a collection that holds nothing of the kind is rejected.
KindSearch = ReportSearch | ModuleSearch | MessageSearch | ConversationSearch | FileSearch
KindResult = ReportResult | ModuleResult | MessageResult | ConversationResult | FileResult
KindHit = ReportHit | ModuleDocumentHit | MessageHit | ConversationHit | FileHit

#: The searches and the results by the name of their kind.
SEARCHES: Final[Mapping[str, type[KindSearch]]] = {
    search.model_fields["kind"].default: search for search in get_args(KindSearch)
}
RESULTS: Final[Mapping[str, type[KindResult]]] = {
    result.model_fields["kind"].default: result for result in get_args(KindResult)
}
#: What the hits of each kind are.
HITS: Final[Mapping[str, type[Contract]]] = {
    kind: get_args(result.model_fields["results"].annotation)[0] for kind, result in RESULTS.items()
}
#: What kinds call the number of hits that a search returns.
LIMITS: Final = ("top_n", "limit", "top_k")
#: What a search leaves out that is asked for its hits alone: no text is joined from them.
_HITS_ALONE: Final[Mapping[str, Any]] = {"prompt_tokens": 0, "context_budget": 0}


def limit_of(search: type[KindSearch]) -> str:
    """Return what a kind calls the number of hits that it returns."""
    return next(name for name in LIMITS if name in search.model_fields)


def hits_alone(search: type[KindSearch]) -> dict[str, Any]:
    """Return the fields by which a search of a kind returns its hits, and no text that is joined from them."""
    return {name: value for name, value in _HITS_ALONE.items() if name in search.model_fields}
