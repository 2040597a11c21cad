"""Identical work in flight is done once: which requests may join, and for how long after the first was submitted.

Requests are identical if all their fields are, so they also have the same collection, lane and deadline: an interactive
search never waits for one of the bulk lane. A request joins work that has begun only while its collection holds what it
held when that was submitted, so a caller that ingests and then searches finds what it ingested.
"""

from typing import Final

from querymill_shared.contracts.answer import AnswerQuestion
from querymill_shared.contracts.callbacks import TellCaller
from querymill_shared.contracts.conversations.ranks import RankList, RecomputeRanks
from querymill_shared.contracts.documents import ExportDocuments, ListDocuments, ShowDocument
from querymill_shared.contracts.embed import EmbedTexts
from querymill_shared.contracts.jobs import JobRequest
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.rerank import Rerank
from querymill_shared.contracts.search import Search

#: Jobs that change nothing that a search finds.
Reads = (
    Search
    | KindSearch
    | RankList
    | AnswerQuestion
    | Rerank
    | EmbedTexts
    | ListDocuments
    | ShowDocument
    | ExportDocuments
    | TellCaller
)

#: The share of its deadline after which a job is joined no more, because who joins it is answered by then.
SHARE_OF_DEADLINE: Final = 0.25
#: A job without a deadline is joined for this long.
DURABLE_JOIN_S: Final = 86_400.0


def reads_only(request: JobRequest) -> bool:
    """Return whether a job changes nothing that a search finds."""
    return isinstance(request, Reads)


def is_ordered(request: JobRequest) -> bool:
    """Return whether a job's version orders it among the writes of documents and vectors."""
    return not reads_only(request) or (isinstance(request, EmbedTexts) and request.into == "table")


def join_s(request: JobRequest) -> float:
    """Return for how many seconds after its submission identical requests may join a job, 0 if none may."""
    if not _is_joined(request):
        return 0.0
    return DURABLE_JOIN_S if request.deadline is None else request.deadline * SHARE_OF_DEADLINE


def _is_joined(request: JobRequest) -> bool:
    match request:
        case EmbedTexts(into=into):
            return into == "result"  # a table's rows may have changed in between
        case RecomputeRanks(scope=scope):
            return scope == "all"
        case TellCaller():
            return False  # each end of a job is told
        case LearnLexicon(background=background):
            return not background  # at most one of them waits, by its key
        case _:
            return reads_only(request)
