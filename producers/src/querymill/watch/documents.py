"""Following documents and code bases: what has changed is read again."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from watchfiles import Change, DefaultFilter

from querymill.ingesting.sources.documents import DocumentFeed
from querymill.ingesting.submitting import ingest, pack
from querymill.watch.changes import Roots
from querymill.watch.histories import is_young
from querymill.watch.sessions import WatchReport
from querymill_reading.sources import METADATA_FILE, FileSource, LeftOut, paths_at, sources_in


@dataclass(slots=True)
class DocumentFollower:
    """Reads the documents that have changed, and with ``--sync`` drops those that are gone.

    What is stored says how each file was when it was read, so nothing is kept on this machine.
    """

    given: Sequence[str]
    feed: DocumentFeed
    later: set[Path] = field(default_factory=set)

    def paths(self) -> list[Path]:
        """Return the files and folders that are meant now."""
        return [path.resolve() if path.is_dir() else path.absolute() for path in paths_at(self.given)]

    def roots(self) -> Roots:
        """Return what is to be watched."""
        return Roots.of(self.paths())

    def everything(self) -> set[Path]:
        """Return all documents; those that are stored as they are cost a look."""
        found = {source.path for source in self.sources() if isinstance(source, FileSource)}
        return found | {Path(place) for place in self.feed.stored}

    def take(self, changed: Iterable[Path], told: WatchReport) -> None:
        """Read documents and load them."""
        meant = {*changed, *self.later}
        self.later = {path for path in meant if is_young(path)}
        meant -= self.later
        folders = {path.parent if path.name == METADATA_FILE else path for path in meant}
        found = [
            source
            for source in self.sources()
            if isinstance(source, FileSource) and (source.path in meant or not folders.isdisjoint(source.path.parents))
        ]
        for source in found:
            self.feed.seen.discard(source.place)
        failures = len(self.feed.done.failures)
        for outcome in ingest(
            self.feed.mill, pack(self.feed.lines_of(found), self.feed.lines.asking(self.feed.collection)), vectors=False
        ):
            if outcome.document is not None:
                self._note(str(outcome.document), outcome.result, outcome.reason, told)
        told.failures += [(left.place, left.reason) for left in self.feed.done.failures[failures:]]
        if self.feed.options.sync:
            self._drop(meant, told)

    def sources(self) -> Iterator[FileSource | LeftOut]:
        """Find the documents that are there."""
        for path in self.paths():
            if path.is_dir():
                yield from sources_in(path, str(path))
            elif path.is_file():
                yield FileSource.single(path)

    def _note(self, id_: str, result: Any, reason: str, told: WatchReport) -> None:
        document = self.feed.done.documents.pop(id_)
        if result is None:
            told.failures.append((document["source"], reason))
            return
        told.counts[result.outcome] += 1
        told.remarks += [(document["source"], remark) for remark in document["remarks"]]
        self.feed.stored[document["source"]] = (id_, document["stamp"])

    def _drop(self, meant: set[Path], told: WatchReport) -> None:
        """Drop the reports of files that are gone, and of what was in folders that are gone."""
        gone = [
            place
            for place in self.feed.stored
            if not (path := Path(place.partition("!")[0])).exists()
            and (path in meant or not meant.isdisjoint(path.parents))
        ]
        if gone:
            ids = [self.feed.stored.pop(place)[0] for place in gone]
            self.feed.mill.drop("reports", collection=self.feed.collection, ids=ids)
            told.counts["dropped"] += len(gone)


@dataclass(slots=True)
class TreeFollower:
    """Compares a code base with what is stored whenever it changes; ``load`` is what is done then."""

    path: Path
    load: Callable[[], None]
    later: set[Path] = field(default_factory=set)
    _is_compared: bool = False

    def roots(self) -> Roots:
        """Return what is to be watched."""
        return Roots.of([self.path])

    def everything(self) -> set[Path]:
        """Return the code base, once: comparing it reads it all."""
        return set() if self._is_compared else {self.path}

    def take(self, changed: Iterable[Path], told: WatchReport) -> None:
        """Compare, unless only what is no source has changed."""
        passes = DefaultFilter()
        if any(passes(Change.modified, str(path)) for path in changed):
            self._is_compared = True
            told.counts["compared"] += 1
            self.load()
