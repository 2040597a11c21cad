"""The folder of a drafted set: the corpus, the proposals with what became of each, and the set made of the kept ones.

``drafts.jsonl`` is the work of the person who confirms: it is written after every answer, and read when they resume.
"""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final, Literal

import pydantic

from querymill_evaluation.drafting import Proposal
from querymill_shared.contracts.fields import Contract, QueryText

DRAFTS: Final = "drafts.jsonl"
_SET: Final = ("corpus.jsonl", "queries.jsonl", "qrels.tsv")

Status = Literal["pending", "kept", "edited", "dropped"]


class BadDraft(Exception):
    """Raised when a folder cannot hold a drafted set. The message names the file or field, and the rule."""


class Draft(Contract):
    """A proposed question, and what became of it. The first line of the file has the collection and the kind."""

    id: str
    judged: str
    question: QueryText
    passage: str
    drafted_by: str
    status: Status = "pending"
    metadata: Mapping[str, Any] = {}


class _Head(Contract):
    collection: str
    kind: str


class DraftSet:
    """A drafted set in its folder."""

    def __init__(self, folder: Path, collection: str, kind: str, drafts: list[Draft]) -> None:
        """Use `open_drafts`, which reads the folder."""
        self.folder, self.collection, self.kind, self.drafts = folder, collection, kind, drafts

    @property
    def kept(self) -> list[Draft]:
        """The questions of the set."""
        return [draft for draft in self.drafts if draft.status in ("kept", "edited")]

    @property
    def pending(self) -> list[Draft]:
        """The proposals that nobody has decided on."""
        return [draft for draft in self.drafts if draft.status == "pending"]

    def write_corpus(self, documents: Iterable[Mapping[str, Any]]) -> int:
        """Write the documents as the corpus of the set; return how many there were."""
        count, target = 0, self.folder / _SET[0]
        self.folder.mkdir(parents=True, exist_ok=True)
        partial = target.with_suffix(".partial")
        with partial.open("w", encoding="utf-8") as lines:
            for document in documents:
                lines.write(json.dumps(document) + "\n")
                count += 1
        partial.replace(target)
        return count

    def propose(self, proposals: Iterable[Proposal]) -> None:
        """Add proposals, and write them down."""
        for proposal in proposals:
            number = len(self.drafts) + 1
            self.drafts.append(
                Draft(
                    id=f"q{number:03}", judged=proposal.judged, question=proposal.question, passage=proposal.passage,
                    drafted_by=proposal.drafted_by, metadata=proposal.metadata,
                )
            )  # fmt: skip
        self._write()

    def decide(self, draft: Draft, status: Status, question: str | None = None) -> None:
        """Write down what became of a proposal, and the set as it is now.

        Raises:
            pydantic.ValidationError: The edited question breaks a rule.
        """
        changed = {"status": status} | ({} if question is None else {"question": question})
        self.drafts[self.drafts.index(draft)] = Draft.model_validate(draft.model_dump() | changed)
        self._write()

    def _write(self) -> None:
        head = _Head(collection=self.collection, kind=self.kind).model_dump_json()
        _replace(self.folder / DRAFTS, [head, *(draft.model_dump_json() for draft in self.drafts)])
        queries = [
            {"_id": draft.id, "text": draft.question, "metadata": {**draft.metadata, "drafted_by": draft.drafted_by}}
            for draft in self.kept
        ]
        _replace(self.folder / _SET[1], [json.dumps(query, ensure_ascii=False) for query in queries])
        judged = [f"{draft.id}\t{draft.judged}\t1" for draft in self.kept]
        _replace(self.folder / _SET[2], ["query-id\tcorpus-id\tscore", *judged])


def open_drafts(folder: Path, collection: str, kind: str) -> DraftSet:
    """Open a folder to draft a set in: a new one, or one that was begun for the same collection and kind.

    Raises:
        BadDraft: It holds something else, or a line is malformed.
    """
    path = folder / DRAFTS
    if not path.exists():
        present = [name for name in _SET if (folder / name).exists() or (folder / f"{name}.gz").exists()]
        if present:
            raise BadDraft(f"{folder}: must be a new folder, or one with {DRAFTS}; it has {present[0]}")
        return DraftSet(folder, collection, kind, [])
    try:
        first, *lines = path.read_text(encoding="utf-8").splitlines()
        head = _Head.model_validate_json(first)
        drafts = [Draft.model_validate_json(line) for line in lines]
    except (OSError, ValueError) as error:
        raise BadDraft(f"{path}: {_said(error)}") from error
    for name, value in (("collection", collection), ("kind", kind)):
        if getattr(head, name) != value:
            raise BadDraft(f"{folder}: {name}: holds drafts for {getattr(head, name)!r}, not for {value!r}")
    return DraftSet(folder, collection, kind, drafts)


def _replace(path: Path, lines: Iterable[str]) -> None:
    """Write a file in one go: a person who stops the command half-way loses nothing."""
    partial = path.with_name(path.name + ".partial")
    partial.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    partial.replace(path)


def _said(error: Exception) -> str:
    if isinstance(error, pydantic.ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc'])) or 'line'}: {first['msg']}"
    return str(error)
