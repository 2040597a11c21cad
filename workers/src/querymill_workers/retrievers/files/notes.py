"""What the steps of `files` leave on the board for later steps and for the result."""

from pydantic import Field

from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.ingesting import IngestNotes
from querymill_workers.jobs.notes import Notes, StepNotes
from querymill_workers.retrievers.files.rules.intent import Lines
from querymill_workers.retrievers.files.rules.kinds import FileKind
from querymill_workers.retrievers.files.rules.relevance import Evidence
from querymill_workers.vectors.rules.weights import VectorsWeight


class FileStepNotes(StepNotes):
    """What every step of a search notes; ``degraded`` names what the step could not do."""

    degraded: tuple[Degradation, ...] = ()


class FileSearchNotes(FileStepNotes):
    """``found``: for each query of the step the paths of the files it found, best first.

    ``weight`` is that of the vectors, if they were searched and it is known.
    """

    found: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    weight: VectorsWeight | None = None


class DefinitionNotes(Notes):
    """A definition of a file: the lines to show, its name with what encloses it, and its score for the request."""

    lines: tuple[Lines, ...]
    label: str
    score: float


class FileNotes(Notes):
    """A file that was evaluated.

    ``tokens`` is what reading the whole file costs, ``excerpt_tokens`` what reading the excerpt does. ``words`` are the
    words of the query that the file has, ``names`` the names it defines that have such a word. ``judged`` says that the
    relevance is a language model's, and ``relevance_formula`` how it follows from the model's number, if it is another
    one. ``weight`` is that of its vector, if it is known. ``parts`` are its best definitions, ``uses`` names that the
    best of them use and others define. ``reason`` says what raised the relevance beside the words. ``grep_tokens`` is
    what reading 20 lines around each line with a rare word of the request costs. ``cells`` are those of a notebook that
    the excerpt is in.
    """

    evidence: Evidence
    relevance: float
    tokens: int
    excerpt: tuple[Lines, ...]
    excerpt_tokens: int
    words: tuple[str, ...]
    names: tuple[str, ...]
    judged: bool = False
    parts: tuple[DefinitionNotes, ...] = ()
    uses: tuple[str, ...] = ()
    reason: str = ""
    kind: FileKind = "code"
    grep_tokens: int = 0
    cells: tuple[int, ...] = ()
    relevance_formula: str = ""
    weight: VectorsWeight | None = None


class EvaluationNotes(FileStepNotes):
    """``files``: the evaluated files by path; ``judged_tokens`` is what a language model read and wrote."""

    files: dict[str, FileNotes] = Field(default_factory=dict)
    judged_tokens: int = 0


class PlanNotes(FileStepNotes):
    """``patterns``: the names that the next round searches for; ``stop``: why there is no next round."""

    patterns: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    stop: str | None = None


class CompareNotes(Notes):
    """``total``: how many files were given; ``pending``: how many stored chunks wait for a vector."""

    total: int
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    pending: int


class FileIngestNotes(IngestNotes):
    """``symbols`` counts those of the stored files; ``pending`` the stored chunks that wait for a vector."""

    symbols: int
    pending: int
