"""The `learn_lexicon` kind: which words of descriptions stand for which modules."""

from typing import Literal

from querymill_shared.contracts.fields import (
    Lane,
    Request,
)
from querymill_shared.contracts.results import Asks, JobResult


class LearnLexicon(Request, Asks["LexiconResult"]):
    """Learn a collection's lexicon anew: which words of descriptions speak of which modules.

    In the ``background`` it first waits for more documents: whoever ingests one often ingests more.
    """

    kind: Literal["learn_lexicon"] = "learn_lexicon"
    lane: Lane = Lane.BULK
    background: bool = False
    deadline: None = None

    @property
    def steps(self) -> tuple[str, ...]:
        """Learning is one step."""
        return ("learn",)


class LexiconResult(JobResult):
    """The lexicon that every worker uses from now on; ``total`` counts its words."""

    kind: Literal["learn_lexicon"] = "learn_lexicon"
    collection: str
    version: int
    documents: int
