"""``querymill ingest reports`` of documents as they are: find them, read those that changed, load them.

What is stored says where it was read from and how the file was then, so no record is kept on this machine: any machine
that sees the files knows which of them changed.
"""

import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pydantic
import typer

from querymill.cli.exits import Exit, WrongUse
from querymill.cli.progress import outcomes_with_bar
from querymill.cli.terminal import Console, echo
from querymill.client import Querymill
from querymill.ingestion import STDIN, GoodLine, Lines, LoadProgress, rule_broken
from querymill.reading.archives import is_archive
from querymill.reading.document import Document, Unreadable
from querymill.reading.process import Reader
from querymill.reading.reports import ROOT, SOURCE, STAMP, asked_hash, report_of
from querymill.reading.sources import (
    LeftOut,
    Source,
    Stamp,
    is_unchanged,
    paths_at,
    sources_in,
)
from querymill_shared.contracts.filters import MAX_CHARS, MAX_VALUES

#: Documents and files that ``--json`` names; of more it gives the number.
NAMED: Final = 1_000
#: Files left out that are named on a terminal, for each reason.
SHOWN: Final = 5
#: Documents on one page of the list of what is stored.
LISTED: Final = 1_000


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    """What a caller says about documents: fields that override the proposals, a password, and whether to drop.

    ``fields`` hold for all documents of the command.
    """

    fields: Mapping[str, str]
    password: str | None = None
    sync: bool = False

    @property
    def is_given(self) -> bool:
        """Whether there is any."""
        return bool(self.fields or self.password or self.sync)


@dataclass(slots=True)
class Loaded:
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


def load_documents(
    lines: Lines[Any], paths: Sequence[str], collection: str, options: DocumentOptions, *, as_json: bool
) -> None:
    """Read documents and load them.

    Raises:
        WrongUse: There is nothing to read, or a field breaks a rule.
        typer.Exit: A file was not loaded; the others were.
    """
    console = Console(stderr=True)
    with Reader() as reader, Querymill() as mill:
        reader.start()  # it imports the engines while this connects and asks what is stored
        done = loaded(mill, reader, lines, paths, collection, options, console)
    report(done, console, as_json=as_json)
    if done.failures or done.outcomes("failed"):
        raise typer.Exit(Exit.FAILED)


def loaded(
    mill: Querymill,
    reader: Reader,
    lines: Lines[Any],
    paths: Sequence[str],
    collection: str,
    options: DocumentOptions,
    console: Console,
) -> Loaded:
    """Read documents, load them, and return what became of each.

    Raises:
        WrongUse: There is nothing to read, or a field breaks a rule.
    """
    done = Loaded()
    with tempfile.TemporaryDirectory(prefix="querymill-") as made:
        folder = Path(made)
        found, roots = found_at(paths, folder)
        feed = Feed(mill, reader, lines, collection, options, done, console, folder)
        feed.learn_what_is_stored(found, roots)
        size = sum(source.path.stat().st_size for source in found if isinstance(source, Source))
        for outcome in outcomes_with_bar(mill, feed.lines_of(found), console, size=size, packing=lines.packing):
            _note(outcome, done, console)
        if options.sync:
            feed.drop_removed(roots)
    return done


def found_at(paths: Sequence[str], folder: Path) -> tuple[list[Source | LeftOut], list[str]]:
    """Return what there is to read, and the folders that were given. Standard input is kept in ``folder``.

    Raises:
        WrongUse: There is nothing.
    """
    found: list[Source | LeftOut] = []
    roots: list[str] = []
    for path in paths_at(paths):
        if path == STDIN:
            found.append(_standard_input(folder))
        elif path.is_dir():
            folder_at = path.resolve()
            roots.append(str(folder_at))
            found.extend(sources_in(folder_at, str(folder_at)))
        elif path.is_file():
            found.append(Source.single(path.parent.resolve() / path.name))
        else:
            raise WrongUse(f"path: {path}: no such file")
    if not any(isinstance(entry, Source) for entry in found):
        reasons = "; ".join(f"{left.place}: {left.reason}" for left in found[:3] if isinstance(left, LeftOut))
        raise WrongUse(f"path: {' '.join(paths)}: no document there" + (f" ({reasons})" if reasons else ""))
    return found, roots


def _standard_input(folder: Path) -> Source:
    path = folder / "standard-input"
    with path.open("wb") as file:
        shutil.copyfileobj(sys.stdin.buffer, file)
    return Source(path, f"-/{Stamp.of(path, '').sha256}", "-")


@dataclass(slots=True)
class Feed:
    """Yields a report for each file that changed. What it reads and leaves out is noted in ``done``."""

    mill: Querymill
    reader: Reader
    lines: Lines[Any]
    collection: str
    options: DocumentOptions
    done: Loaded
    console: Console
    folder: Path
    stored: dict[str, tuple[str, str]] = field(default_factory=dict)
    seen: set[str] = field(default_factory=set)

    def learn_what_is_stored(self, found: Sequence[Source | LeftOut], roots: Sequence[str]) -> None:
        """List the documents of these places, each with its id and its stamp."""
        for root in roots:
            self._list({"prefix": f"{root.rstrip('/')}/"[:MAX_CHARS]})
        alone = [entry.place for entry in found if isinstance(entry, Source) and entry.root not in roots]
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

    def lines_of(self, found: Sequence[Source | LeftOut]) -> Iterator[GoodLine[Any]]:
        """Yield the reports of the files that changed; those of an archive while it is unpacked."""
        for entry in found:
            if isinstance(entry, LeftOut):
                self._leave_out(entry)
            elif is_archive(entry.name):
                yield from self._unpacked(entry)
            elif (line := self._line(entry)) is not None:
                yield line

    def _unpacked(self, archive: Source) -> Iterator[GoodLine[Any]]:
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

    def _line(self, source: Source) -> GoodLine[Any] | None:
        """Read a file, unless it is as it was when it was read last, or was named twice."""
        if source.place in self.seen:
            return None
        self.seen.add(source.place)
        given = {**source.given, **self.options.fields}
        asked = asked_hash(given)
        try:
            if source.place in self.stored and is_unchanged(self.stored[source.place][1], source.path, asked):
                self.done.unchanged += 1
                return None
            stamp = Stamp.of(source.path, asked)
            document = self.reader.read(source.path, name=source.name, password=self.options.password)
            row = report_of(document, source.id, given, {SOURCE: source.place, ROOT: source.root, STAMP: str(stamp)})
            request = self.lines.request.model_validate({"collection": self.collection, self.lines.field: row})
        except (Unreadable, OSError) as error:
            self._leave_out(LeftOut(source.place, str(error), failed=True))
            return None
        except pydantic.ValidationError as error:
            self._leave_out(LeftOut(source.place, rule_broken(error, below=self.lines.field), failed=True))
            return None
        self._show(source, row, document)
        self.done.documents[source.id]["stamp"] = str(stamp)
        return GoodLine(len(self.seen), stamp.size, request, unit="document", document=source.id)

    def _show(self, source: Source, row: Mapping[str, Any], document: Document) -> None:
        shown = {name: row[name] for name in ("title", "company", "period", "published_at")}
        remarks = [str(remark) for remark in document.remarks]
        self.done.documents[source.id] = {
            "id": source.id, "source": source.place, "format": document.format, "pages": len(document.pages), **shown,
            "remarks": remarks, "outcome": "pending",
        }  # fmt: skip
        self.done.pages += len(document.pages)
        said = " · ".join(str(value) for value in shown.values() if value)
        self.console.print(f"{source.place}: {said} · {len(document.pages)} pages", markup=False)
        for remark in remarks[:SHOWN]:
            self.console.print(f"{source.place}: {remark}", style="yellow", markup=False)
        if len(remarks) > SHOWN:
            self.console.print(f"{source.place}: and {len(remarks) - SHOWN} more", style="yellow", markup=False)

    def _leave_out(self, left: LeftOut) -> None:
        self.done.left_out.append(left)
        self.seen.add(left.place)
        if left.failed:
            self.console.print(f"{left.place}: {left.reason}", style="red", markup=False)

    def drop_removed(self, roots: Sequence[str]) -> None:
        """Drop the reports of files that are no longer in the folders; none if not everything could be read."""
        if any(left.failed and (is_archive(left.place) or Path(left.place).is_dir()) for left in self.done.left_out):
            self.console.print("Not everything could be read, so nothing was dropped.", style="yellow")
            return
        below = tuple(f"{root.rstrip('/')}/" for root in roots)
        gone = [id_ for place, (id_, _) in self.stored.items() if place not in self.seen and place.startswith(below)]
        for start in range(0, len(gone), LISTED):
            self.mill.drop("reports", collection=self.collection, ids=gone[start : start + LISTED])
        self.done.dropped = len(gone)


def _note(outcome: LoadProgress, done: Loaded, console: Console) -> None:
    """Note what became of a document."""
    document = done.documents[str(outcome.document)]
    if outcome.result is None:
        document["outcome"], document["reason"] = "failed", outcome.reason
        console.print(f"{document['source']}: {outcome.reason}", style="red", markup=False)
    else:
        document["outcome"] = outcome.result.outcome
        done.passages += outcome.result.total


def report(done: Loaded, console: Console, *, as_json: bool) -> None:
    """Print what was loaded and what was not."""
    counts = {name: done.outcomes(name) for name in ("ingested", "superseded", "forgotten", "failed")}
    unchanged = done.unchanged + done.outcomes("unchanged")
    skipped = [left for left in done.left_out if not left.failed]
    if as_json:
        summary = {
            **counts,
            "unchanged": unchanged,
            "dropped": done.dropped,
            "pages": done.pages,
            "passages": done.passages,
            "documents": [
                {name: value for name, value in document.items() if name != "stamp"}
                for document in list(done.documents.values())[:NAMED]
            ],
            "unreadable": [{"source": left.place, "reason": left.reason} for left in done.failures[:NAMED]],
            "unreadable_count": len(done.failures),
            "skipped": [{"source": left.place, "reason": left.reason} for left in skipped[:NAMED]],
            "skipped_count": len(skipped),
        }
        echo(json.dumps(summary, ensure_ascii=False, default=str))
        return
    for reason in dict.fromkeys(left.reason for left in skipped):
        places = [left.place for left in skipped if left.reason == reason]
        more = f" and {len(places) - SHOWN} more" if len(places) > SHOWN else ""
        console.print(f"left out, {reason}: {', '.join(places[:SHOWN])}{more}", style="yellow", markup=False)
    others = "".join(f"{counts[name]} {name}, " for name in ("superseded", "forgotten") if counts[name])
    dropped = f", {done.dropped} dropped" if done.dropped else ""
    read = f"{done.pages} pages, {done.passages} passages"
    echo(
        f"{counts['ingested']} documents ingested ({read}), {unchanged} unchanged, {others}"
        f"{counts['failed']} failed, {len(done.failures)} unreadable, {len(skipped)} left out{dropped}"
    )
