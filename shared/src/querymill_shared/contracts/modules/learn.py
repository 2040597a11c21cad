"""The `learn_lexicon` kind: learn which words of descriptions stand for which modules."""

from typing import ClassVar, Literal

from querymill_shared.contracts.fields import (
    Lane,
    Request,
)
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.queues import Queue


class LearnLexicon(Request, Asks["LexiconResult"]):
    """Learn a collection's lexicon again from all its documents: which words stand for which modules.

    Attributes:
        lane: priority under a provider's rate limit: normal or bulk
        background: whether the job first waits for more documents: 2 s, and 1 ms for each document stored so far
        deadline: always null: the job has no deadline
    """

    queue: ClassVar[Queue] = Queue.INGEST
    kind: Literal["learn_lexicon"] = "learn_lexicon"
    lane: Lane = Lane.BULK
    background: bool = False
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the job: one, ``learn``."""
        return ("learn",)


class LexiconResult(JobResult):
    """The lexicon that every worker uses from now on. ``total`` is its number of words.

    Attributes:
        collection: name of the collection that the lexicon is of
        version: number of the lexicon, which rises each time that one is learned
        documents: number of documents in the collection, from which the lexicon is learned
    """

    kind: Literal["learn_lexicon"] = "learn_lexicon"
    collection: str
    version: int
    documents: int
