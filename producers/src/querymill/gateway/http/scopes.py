"""Which scopes a request needs, from its contract. A kind that this page does not know is for operators only."""

from typing import Any, Final, get_args

from querymill.keys import Scope
from querymill_shared.board.joining import Reads
from querymill_shared.contracts.callbacks import TellCaller
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.documents import DropDocuments
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.feedback import GiveFeedback, ListFeedback
from querymill_shared.contracts.fields import AnyRequest
from querymill_shared.contracts.files.ingest import CompareFiles
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.reindex import Reindex
from querymill_shared.contracts.set_aside import ListSetAside
from querymill_shared.contracts.vectors import Reembed, WeighVectors
from querymill_shared.queues import Queue

_DELETES: Final = (DropDocuments,)
_OPERATES: Final = (
    ListFeedback, ListSetAside, LearnLexicon, RecomputeRanks, Reembed, Reindex, TellCaller, WeighVectors,
)  # fmt: skip
#: Every request type by its kind.
REQUESTS: Final[dict[str, type[AnyRequest]]] = {
    asked.model_fields["kind"].default: asked for asked in get_args(JobRequest)
}


def scope_of(asked: type[Any]) -> Scope:
    """Return the scope that a type of request needs, and who reads its result."""
    if issubclass(asked, _DELETES):
        return Scope.DELETE
    if issubclass(asked, _OPERATES):
        return Scope.OPERATE
    # Who may search may say what the search was worth.
    if issubclass(asked, (GiveFeedback, *get_args(Reads))):
        return Scope.SEARCH
    return Scope.INGEST if asked.queue in (Queue.INGEST, Queue.EMBED) else Scope.OPERATE


def scope_of_kind(kind: str) -> Scope:
    """Return the scope that a kind of job needs. One of a newer release is for operators only."""
    asked = REQUESTS.get(kind)
    return Scope.OPERATE if asked is None else scope_of(asked)


def scopes_of(request: AnyRequest) -> frozenset[Scope]:
    """Return the scopes that a request needs, all of them."""
    match request:
        case EmbedTexts(into="table"):
            return frozenset((Scope.INGEST,))
        case CompareFiles(remove=True):
            return frozenset((Scope.INGEST, Scope.DELETE))
        case _:
            return frozenset((scope_of(type(request)),))
