"""Documents as they are: find them at paths, read those that changed, and yield what is to be loaded.

What is stored says where it was read from and how the file was then, so no record is kept on this machine: any machine
that sees the files knows which of them changed.
"""

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pydantic

from querymill.broken_rules import rule_broken
from querymill.ingesting.jsonl import STDIN, GoodLine, Lines
from querymill.ingesting.path_options import PathOptions, UnusablePath
from querymill.ingesting.submitting import Stores
from querymill.presenting.numbers import quantity
from querymill_reading.archives import is_archive
from querymill_reading.document import Document, EngineMissing, Unreadable
from querymill_reading.ocr import Ocr, OcrMissing
from querymill_reading.process import FileReader
from querymill_reading.reports import ROOT, SOURCE, STAMP, asked_hash, report_of
from querymill_reading.sources import FileSource, FileStamp, LeftOut, is_unchanged, paths_at, sources_in
from querymill_shared.contracts.filters import MAX_CHARS, MAX_VALUES

#: Remarks that are reported of one document, at most.
SHOWN: Final = 5
#: Documents on one page of the list of what is stored.
LISTED: Final = 1_000


#: Called with a line and its style: "yellow" for a remark.
Say = Callable[[str, str], None]


def _say_nothing(*_: object) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """What a caller says about documents: fields that override the proposals, a password, and whether to drop.

    ``fields`` hold for all documents of the command. ``ocr`` reads scanned pages.
    """

    fields: Mapping[str, str]
    password: str | None = None
    sync: bool = False
    ocr: Ocr | None = None

    @classmethod
    def of(cls, options: PathOptions) -> "DocumentOptions":
        """Take over what is for documents.

        Raises:
            UnusablePath: OCR is wanted, and this machine has none.
        """
        try:
            ocr = Ocr.found() if options.ocr else None
        except OcrMissing as error:
            raise UnusablePath(f"ocr: {error}, or leave it out") from error
        return cls(options.fields, options.password, options.sync, ocr)


@dataclass(slots=True)
class LoadedFiles:
    """What became of the files."""

    documents: dict[str, dict[str, Any]] = field(default_factory=dict)
    left_out: list[LeftOut] = field(default_factory=list)
    unchanged: int = 0
    dropped: int = 0
    passages: int = 0
    pages: int = 0

    @property
    def failures(self) -> list[LeftOut]:
        """The files that should have been loaded."""
        return [left for left in self.left_out if left.failed]

    def outcomes(self, name: str) -> int:
        """Return how many documents had an outcome."""
        return sum(document["outcome"] == name for document in self.documents.values())


def found_at(paths: Sequence[str], folder: Path) -> tuple[list[FileSource | LeftOut], list[str]]:
    """Return what there is to read, and the folders that were given. Standard input is kept in ``folder``.

    Raises:
        UnusablePath: There is nothing.
    """
    found: list[FileSource | LeftOut] = []
    roots: list[str] = []
    for path in paths_at(paths):
        if path == STDIN:
            found.append(_standard_input(folder))
        elif path.is_dir():
            folder_at = path.resolve()
            roots.append(str(folder_at))
            found.extend(sources_in(folder_at, str(folder_at)))
        elif path.is_file():
            found.append(FileSource.single(path.parent.resolve() / path.name))
        else:
            raise UnusablePath(f"path: {path}: no such file")
    if not any(isinstance(entry, FileSource) for entry in found):
        reasons = "; ".join(f"{left.place}: {left.reason}" for left in found[:3] if isinstance(left, LeftOut))
        raise UnusablePath(f"path: {' '.join(paths)}: no document there" + (f" ({reasons})" if reasons else ""))
    return found, roots


def _standard_input(folder: Path) -> FileSource:
    path = folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return FileSource(path, f"-/{FileStamp.of(path, '').sha256}", "-")


@dataclass(slots=True)
class DocumentFeed:
    """Yields a report for each file that changed. What it reads and leaves out is noted in ``done``.

    ``say`` is called with what was read, and with each remark and its style; ``on_left_out`` each file that was not.
    ``missing`` names an engine that is not installed, if one was needed.
    """

    mill: Stores
    reader: FileReader
    lines: Lines[Any]
    collection: str
    options: DocumentOptions
    done: LoadedFiles
    folder: Path
    say: Say = _say_nothing
    on_left_out: Callable[[LeftOut], None] = _say_nothing
    stored: dict[str, tuple[str, str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)
    missing: str = ""

    def learn_what_is_stored(self, found: Sequence[FileSource | LeftOut], roots: Sequence[str]) -> None:
        """List the documents of these places, each with its id and its stamp."""
        for root in roots:
            self._list({"prefix": f"{root.rstrip('/')}/"[:MAX_CHARS]})
        alone = [entry.place for entry in found if isinstance(entry, FileSource) and entry.root not in roots]
        for place in alone:
            if is_archive(place):
                self._list({"prefix": f"{place}!"[:MAX_CHARS]})
        for start in range(0, len(alone), MAX_VALUES):
            self._list([place[:MAX_CHARS] for place in alone[start : start + MAX_VALUES]])

    def _list(self, condition: object) -> None:
        cursor = None
        while True:
            page = self.mill.list(
                "reports", collection=self.collection, filter={SOURCE: condition}, limit=LISTED, cursor=cursor
            )
            for card in page.documents:
                stamp = card.metadata.get(STAMP)
                self.stored[str(card.metadata[SOURCE])] = (card.id, str(stamp))
            cursor = page.cursor
            if cursor is None:
                return

    def lines_of(self, found: Sequence[FileSource | LeftOut]) -> Iterator[GoodLine[Any]]:
        """Yield the reports of the files that changed; those of an archive while it is unpacked."""
        for entry in found:
            if isinstance(entry, LeftOut):
                self._leave_out(entry)
            elif is_archive(entry.name):
                yield from self._unpacked(entry)
            elif (line := self._line(entry)) is not None:
                yield line

    def _unpacked(self, archive: FileSource) -> Iterator[GoodLine[Any]]:
        with tempfile.TemporaryDirectory(dir=self.folder) as into:
            try:
                members = self.reader.unpack(archive.path, Path(into))
            except Unreadable as error:
                self._leave_out(LeftOut(archive.place, str(error), failed=True))
                return
            for member, why in members:
                if why:
                    self._leave_out(LeftOut(f"{archive.place}!{member}", why, failed=True))
            yield from self.lines_of(list(sources_in(Path(into), archive.root, prefix=f"{archive.place}!")))

    def _line(self, source: FileSource) -> GoodLine[Any] | None:
        """Read a file, unless it is as it was when it was read last, or was named twice."""
        if source.place in self.seen:
            return None
        self.seen.add(source.place)
        given = {**source.given, **self.options.fields}
        ocr = self.options.ocr
        asked = asked_hash({**given, "ocr": ocr.name} if ocr else given)
        try:
            if source.place in self.stored and is_unchanged(self.stored[source.place][1], source.path, asked):
                self.done.unchanged += 1
                return None
            stamp = FileStamp.of(source.path, asked)
            document = self.reader.read(source.path, name=source.name, password=self.options.password, ocr=ocr)
            row = report_of(document, source.id, given, {SOURCE: source.place, ROOT: source.root, STAMP: str(stamp)})
            report = self.lines.document.model_validate(row)
        except (Unreadable, OSError) as error:
            if isinstance(error, EngineMissing):
                self.missing = str(error)
            self._leave_out(LeftOut(source.place, str(error), failed=True))
            return None
        except pydantic.ValidationError as error:
            self._leave_out(LeftOut(source.place, rule_broken(error), failed=True))
            return None
        self._show(source, row, document)
        self.done.documents[source.id]["stamp"] = str(stamp)
        return GoodLine(len(self.seen), stamp.size, report, unit="document")

    def _show(self, source: FileSource, row: Mapping[str, Any], document: Document) -> None:
        shown = {name: row[name] for name in ("title", "company", "period", "published_at")}
        remarks = [str(remark) for remark in document.remarks]
        self.done.documents[source.id] = {
            "id": source.id, "source": source.place, "format": document.format, "pages": len(document.pages), **shown,
            "remarks": remarks, "outcome": "pending",
        }  # fmt: skip
        self.done.pages += len(document.pages)
        said = " · ".join(str(value) for value in shown.values() if value)
        self.say(f"{source.place}: {said} · {quantity(len(document.pages), 'pages')}", "")
        for remark in remarks[:SHOWN]:
            self.say(f"{source.place}: {remark}", "yellow")
        if len(remarks) > SHOWN:
            self.say(f"{source.place}: and {len(remarks) - SHOWN} more", "yellow")

    def _leave_out(self, left: LeftOut) -> None:
        self.done.left_out.append(left)
        self.seen.add(left.place)
        self.on_left_out(left)

    def drop_removed(self, roots: Sequence[str]) -> None:
        """Drop the reports of files that are no longer in the folders; none if not everything could be read."""
        if any(left.failed and (is_archive(left.place) or Path(left.place).is_dir()) for left in self.done.left_out):
            self.say("Not everything could be read, so nothing was dropped.", "yellow")
            return
        below = tuple(f"{root.rstrip('/')}/" for root in roots)
        gone = [id_ for place, (id_, _) in self.stored.items() if place not in self.seen and place.startswith(below)]
        for start in range(0, len(gone), LISTED):
            self.mill.drop("reports", collection=self.collection, ids=gone[start : start + LISTED])
        self.done.dropped = len(gone)
