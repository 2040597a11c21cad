"""Read evaluation sets, and turn their documents and queries into ours.

A set is a folder with ``corpus.jsonl`` (plain or gzipped, in our format or BEIR's), ``queries.jsonl`` and
``qrels.tsv``. BEIR has no pages: documents that name the same report (``doc_name``, ``doc``) become its pages.
"""

import csv
import gzip
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from querymill.broken_rules import rule_broken
from querymill_shared.contracts.history import Turn
from querymill_shared.contracts.reports.ingest import Report

#: Turns before a query: a field of its line, or of its metadata.
_TURNS: Final = TypeAdapter(tuple[Turn, ...])
#: The columns of judgements.
_COLUMNS: Final = ("query-id", "corpus-id", "score")

Routing = Literal["documents", "given", "question"]


class BadSet(Exception):
    """Raised when a folder is not an evaluation set. The message says what is missing or malformed."""


@dataclass(frozen=True, slots=True)
class SetQuery:
    """A query of a set, with its metadata, and the turns of the chat before it."""

    query_id: str
    text: str
    metadata: Mapping[str, Any]
    history: tuple[Turn, ...] = ()


@dataclass(frozen=True, slots=True)
class ReportSet:
    """A set for `reports`. ``corpus_ids`` maps (report, page) to the judged id."""

    name: str
    reports: tuple[Report, ...]
    queries: tuple[SetQuery, ...]
    qrels: Mapping[str, Mapping[str, int]]
    corpus_ids: Mapping[tuple[str, int], str]


def read_report_set(folder: Path, *, max_queries: int | None = None, distractors: int | None = None) -> ReportSet:
    """Read a set for `reports`. Only judged queries are kept.

    ``distractors`` keeps the judged pages of each report and this many others, the same each time. A large set is
    then measured in minutes, but its figures are higher than on the whole set.

    Raises:
        BadSet: A file is missing or malformed.
    """
    try:
        qrels, queries, corpus = read_parts(folder)
        reports, corpus_ids = _read_own(corpus) if corpus and "pages" in corpus[0] else _group_pages(corpus)
        if distractors is not None:
            judged = {document for grades in qrels.values() for document in grades}
            thinned = [_thin(report, corpus_ids, judged, distractors) for report in reports]
            reports = [report for report in thinned if report.pages]
    except (OSError, KeyError, ValueError) as error:
        raise BadSet(f"{folder}: {type(error).__name__}: {error}") from error
    return ReportSet(folder.name, tuple(reports), sample(queries, max_queries), qrels, corpus_ids)


def read_parts(folder: Path) -> tuple[dict[str, dict[str, int]], list[SetQuery], list[dict[str, Any]]]:
    """Read the judgements, the judged queries, and the lines of the corpus.

    Raises:
        BadSet, OSError, KeyError, ValueError: A file is missing or malformed.
    """
    return *read_judged(folder), [line for _, line in read_lines(folder, "corpus")]


def read_judged(
    folder: Path, queries: str = "queries", *, unjudged: bool = False
) -> tuple[dict[str, dict[str, int]], list[SetQuery]]:
    """Read the judgements and a file of queries: the judged ones, or with ``unjudged`` all.

    Raises:
        BadSet, OSError, KeyError, ValueError: A file is missing or malformed.
    """
    qrels = read_qrels(folder / "qrels.tsv")
    read = []
    for number, line in read_lines(folder, queries):
        with at_line(folder, queries, number):
            metadata = line.get("metadata") or {}
            history = _TURNS.validate_python(line.get("history") or metadata.get("history") or ())
            read.append(SetQuery(line["_id"], line["text"], metadata, history))
    return qrels, [query for query in read if unjudged or query.query_id in qrels]


@contextmanager
def at_line(folder: Path, name: str, number: int) -> Iterator[None]:
    """Add the line and its field to the error of a block that reads a line.

    Raises:
        BadSet: The block raised KeyError or ValueError.
    """
    try:
        yield
    except KeyError as error:
        raise BadSet(f"{folder}: {name}, line {number}: {error.args[0]}: Field required") from error
    except ValueError as error:
        raise BadSet(f"{folder}: {name}, line {number}: {rule_broken(error)}") from error


def sample(queries: Sequence[SetQuery], limit: int | None) -> tuple[SetQuery, ...]:
    """Take up to ``limit`` queries, the same each time; all of them if ``limit`` is None."""
    return tuple(queries if limit is None else sorted(queries, key=lambda query: sample_key(query.query_id))[:limit])


def routing_fields(query: SetQuery, routing: Routing | None) -> dict[str, Any]:
    """Return the request fields that route a query: to its report, by its company and year, or by its words.

    By default a query is routed to its report if the set names reports alone (such a set intends it), else by company
    and year if they are known, else by its words.
    """
    metadata = query.metadata
    report = metadata.get("doc_name") or metadata.get("doc")
    chosen = routing or ("documents" if "doc" in metadata else "given" if "company" in metadata else "question")
    match chosen:
        case "documents":
            return {"documents": [report]} if report else {}
        case "given":
            period = metadata.get("year") or metadata.get("period")
            fields = {"company": metadata.get("company"), "period": str(period) if period else None}
            return {name: value for name, value in fields.items() if value}
        case "question":
            return {}


def _group_pages(corpus: list[dict[str, Any]]) -> tuple[list[Report], dict[tuple[str, int], str]]:
    pages: dict[str, list[dict[str, Any]]] = {}
    first: dict[str, Mapping[str, Any]] = {}
    corpus_ids: dict[tuple[str, int], str] = {}
    for line in corpus:
        metadata = line.get("metadata") or {}
        report = str(metadata.get("doc_name") or metadata.get("doc") or line["_id"])
        number = int(metadata.get("page", len(pages.get(report, []))))
        pages.setdefault(report, []).append({"page": number, "text": line["text"]})
        first.setdefault(report, {"title": line.get("title"), **metadata})
        corpus_ids[report, number] = line["_id"]
    return [_report(name, first[name], found) for name, found in pages.items()], corpus_ids


def _report(name: str, metadata: Mapping[str, Any], pages: list[dict[str, Any]]) -> Report:
    period = metadata.get("period") or metadata.get("year")
    return Report.model_validate({
        "sha1": name,
        "title": metadata.get("title") or name,
        "company": metadata.get("company") or name,
        "period": str(period) if period else None,
        "pages": pages,
    })  # fmt: skip


def _read_own(corpus: list[dict[str, Any]]) -> tuple[list[Report], dict[tuple[str, int], str]]:
    reports = [Report.model_validate(line) for line in corpus]
    ids = {(report.sha1, page.page): f"{report.sha1}/{page.page}" for report in reports for page in report.pages}
    return reports, ids


def read_lines(folder: Path, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Read a file of JSON lines, plain or gzipped; yield each line with its number.

    Raises:
        BadSet: A line is malformed.
        OSError: The file is missing.
    """
    plain, packed = folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz"
    path, read = (packed, gzip.open) if packed.exists() else (plain, open)
    if not path.exists():
        raise BadSet(f"{folder}: a set must have {plain.name}, or {packed.name}")
    with read(path, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.strip():
                with at_line(folder, name, number):
                    parsed = json.loads(line)
                if not isinstance(parsed, dict) or not isinstance(parsed.get("metadata") or {}, dict):
                    raise BadSet(f"{folder}: {name}, line {number}: it and its metadata must be objects")
                yield number, parsed


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read the judgements: query id → document id → grade.

    Raises:
        BadSet: The file is missing, or its first line does not name the columns.
    """
    qrels: dict[str, dict[str, int]] = {}
    if not path.is_file():
        raise BadSet(f"{path.parent}: a set must have {path.name}, with the columns {', '.join(_COLUMNS)}")
    with path.open(encoding="utf-8", newline="") as rows:
        reader = csv.DictReader(rows, delimiter="\t")
        if not set(_COLUMNS) <= set(reader.fieldnames or ()):
            raise BadSet(f"{path}: line 1 must name the columns {', '.join(_COLUMNS)}, separated by tabs")
        for row in reader:
            qrels.setdefault(row["query-id"], {})[row["corpus-id"]] = int(row["score"])
    return qrels


def _thin(report: Report, corpus_ids: Mapping[tuple[str, int], str], judged: set[str], distractors: int) -> Report:
    ordered = sorted(report.pages, key=lambda page: sample_key(corpus_ids[report.sha1, page.page]))
    wanted = {page.page for page in report.pages if corpus_ids[report.sha1, page.page] in judged}
    others = [page.page for page in ordered if page.page not in wanted][:distractors]
    kept = tuple(page for page in report.pages if page.page in wanted.union(others))
    return report.model_copy(update={"pages": kept})


def sample_key(name: str) -> str:
    """Hash a name: sorted by it, a sample is the same on every machine and does not follow the order of the file."""
    return hashlib.sha256(name.encode()).hexdigest()
