"""Saved runs: the result of every question of a set, in a folder that an interrupted run is continued from.

``run.json`` says what was asked of what, and ``queries.jsonl`` has one line for each question, written as soon as it
is answered.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pydantic

from querymill_evaluation import measures
from querymill_shared.contracts.fields import Contract

#: The files of a run.
HEAD, QUERIES = "run.json", "queries.jsonl"
#: What is measured of every question, by the names of the figures.
MEASURES: Final = ("ndcg@10", "recall@10", "mrr@10")


class BadRun(Exception):
    """Raised when a folder holds no run, or another one. The message names the file or field, and the rule."""


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The ranking of one query (judged id → score), and what it cost; ``figures`` are measured for its kind alone."""

    query_id: str
    scores: Mapping[str, float]
    ms: float
    calls: int
    tokens: int
    degraded: bool
    figures: Mapping[str, float] = field(default_factory=dict)


class RunHead(Contract):
    """What was asked of what.

    ``questions`` is the fingerprint of the questions with their judgements, and ``asked`` their number: runs with the
    same fingerprint can be compared. ``sampled`` says how the set was cut, and is empty for the whole set. ``release``
    names the code that answered, if that is known.
    """

    set: str
    kind: str
    options: Mapping[str, Any] = {}
    sampled: Mapping[str, int] = {}
    questions: str
    asked: int
    release: str = ""


class _Line(Contract):
    """A line of ``queries.jsonl``: an outcome, and its measures for readers of the file."""

    id: str = pydantic.Field(alias="_id")
    ranking: tuple[str, ...]
    ms: float
    calls: int
    tokens: int
    degraded: bool
    figures: Mapping[str, float] = {}
    measures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SavedRun:
    """A run that was saved: its head, and by question the outcome and the measures."""

    folder: Path
    head: RunHead
    outcomes: Mapping[str, QueryOutcome]
    measured: Mapping[str, Mapping[str, float]]

    @property
    def finished(self) -> bool:
        """Whether every question was asked."""
        return len(self.outcomes) >= self.head.asked

    def values(self, measure: str) -> list[float]:
        """Return a measure of every question, in the order of their ids, so that two runs form pairs."""
        return [self.measured[query_id][measure] for query_id in sorted(self.measured)]


def fingerprint(queries: Iterable[tuple[str, str]], qrels: Mapping[str, Mapping[str, int]]) -> str:
    """Return the fingerprint of questions (id, text) and their judgements; their order does not matter."""
    judged = [[query_id, text, sorted(qrels.get(query_id, {}).items())] for query_id, text in sorted(queries)]
    return hashlib.sha256(json.dumps(judged, ensure_ascii=False).encode()).hexdigest()[:16]


def begin_run(folder: Path, head: RunHead) -> SavedRun:
    """Create the folder of a run, or return what an interrupted run of the same head has answered so far.

    Raises:
        BadRun: The folder has another run, or files that are none.
    """
    if (folder / HEAD).exists():
        run = read_run(folder)
        differing = [name for name in RunHead.model_fields if getattr(run.head, name) != getattr(head, name)]
        if differing:
            said = "; ".join(f"{name}: {getattr(run.head, name)!r}, now {getattr(head, name)!r}" for name in differing)
            raise BadRun(f"{folder}: holds another run ({said}); name another folder, or delete this one")
        return run
    if folder.exists() and any(folder.iterdir()):
        raise BadRun(f"{folder}: must be a new folder, or hold a run ({HEAD})")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / HEAD).write_text(head.model_dump_json(indent=2) + "\n", encoding="utf-8")
    (folder / QUERIES).touch()
    return SavedRun(folder, head, {}, {})


def append_outcome(folder: Path, outcome: QueryOutcome, qrels: Mapping[str, Mapping[str, int]]) -> None:
    """Write the outcome of a question to its run."""
    ranking = sorted(outcome.scores, key=lambda judged: (-outcome.scores[judged], judged))
    line = {
        "_id": outcome.query_id, "ranking": ranking, "ms": round(outcome.ms, 2), "calls": outcome.calls,
        "tokens": outcome.tokens, "degraded": outcome.degraded, "figures": dict(outcome.figures),
        "measures": measures.measure_run({outcome.query_id: outcome.scores}, qrels, digits=6),
    }  # fmt: skip
    with (folder / QUERIES).open("a", encoding="utf-8") as lines:
        lines.write(json.dumps(line) + "\n")


def read_run(folder: Path) -> SavedRun:
    """Read a run.

    A last line that was cut when its writer died is removed from the file: its question is asked again.

    Raises:
        BadRun: A file is missing or malformed.
    """
    if not (folder / HEAD).is_file():
        raise BadRun(
            f"{folder}: must be the folder of a saved run, with {HEAD} (querymill eval SET --kind K --save DIR)"
        )
    try:
        head = RunHead.model_validate_json((folder / HEAD).read_bytes())
    except pydantic.ValidationError as error:
        raise BadRun(f"{folder / HEAD}: {_said(error)}") from error
    lines = _whole_lines(folder / QUERIES)
    read: dict[str, _Line] = {}
    for number, text in enumerate(lines, start=1):
        try:
            line = _Line.model_validate_json(text)
        except pydantic.ValidationError as error:
            raise BadRun(f"{folder / QUERIES}, line {number}: {_said(error)}") from error
        read[line.id] = line
    outcomes = {name: _outcome(line) for name, line in read.items()}
    return SavedRun(folder, head, outcomes, {name: line.measures for name, line in read.items()})


def _outcome(line: _Line) -> QueryOutcome:
    scores = {judged: 1 / rank for rank, judged in enumerate(line.ranking, start=1)}
    return QueryOutcome(line.id, scores, line.ms, line.calls, line.tokens, line.degraded, line.figures)


def _whole_lines(path: Path) -> list[bytes]:
    try:
        written = path.read_bytes()
    except OSError as error:
        raise BadRun(f"{path}: {error.strerror}") from error
    whole = written[: written.rfind(b"\n") + 1]
    if whole != written:
        path.write_bytes(whole)
    return whole.splitlines()


def _said(error: pydantic.ValidationError) -> str:
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}"
