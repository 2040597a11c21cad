"""What the steps of `files` leave on the board for later steps and for the result."""

from typing import Any

from pydantic import Field

from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.notes import Notes, StepNotes
from querymill_workers.retrievers.files.rules.relevance import Evidence, Lines


class PartNotes(StepNotes):
    """What every step of a search notes; ``degraded`` names what the step could not do."""

    degraded: tuple[Degradation, ...] = ()

    def for_board(self) -> dict[str, Any]:
        """Write the fields that were set, as JSON holds them."""
        return self.model_dump(mode="json", exclude_unset=True)


class SearchNotes(PartNotes):
    """``found``: for each query of the step the paths of the files it found, best first."""

    found: dict[str, tuple[str, ...]] = Field(default_factory=dict)


class FileNotes(Notes):
    """A file that was evaluated.

    ``tokens`` is what reading the whole file costs, ``excerpt_tokens`` what reading the excerpt does. ``words`` are
    the words of the query that the file has, ``names`` the names it defines that have such a word. ``judged`` says
    that the relevance is a language model's.
    """

    evidence: Evidence
    relevance: float
    tokens: int
    excerpt: tuple[Lines, ...]
    excerpt_tokens: int
    words: tuple[str, ...]
    names: tuple[str, ...]
    judged: bool = False


class EvaluationNotes(PartNotes):
    """``files``: the evaluated files by path; ``judged_tokens`` is what a language model read and wrote."""

    files: dict[str, FileNotes] = Field(default_factory=dict)
    judged_tokens: int = 0


class PlanNotes(PartNotes):
    """``patterns``: the names that the next round searches for; ``stop``: why there is no next round."""

    patterns: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    stop: str | None = None


class CompareNotes(Notes):
    """``total``: how many files were given; ``pending``: how many stored chunks lack a vector."""

    total: int
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    pending: int


class IngestNotes(Notes):
    """``total``: how many files were given; ``pending``: how many stored chunks lack a vector."""

    total: int
    ingested: int
    symbols: int
    chunks: int
    pending: int


class EmbedNotes(Notes):
    """``total``: how many chunks got a vector; ``pending``: how many stored chunks still lack one."""

    total: int
    pending: int
    usage: dict[str, int]
