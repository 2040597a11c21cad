"""Read other people's documents, histories and code and report, by format, what became of them. Nothing is stored.

    make foreign DIR=folder

Every file below the folder is tried as what its ending says, as a history by its beginning, and as a file of a code
base. It counts: read, refused with a reason, remarks, crashes, and letters of the XML of documents that were not read.
"""

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from querymill.code_bases.directory import Directory
from querymill.code_bases.listing import ListedFile, NotedFolder, Skipped
from querymill_histories.files import BROKEN, head_of
from querymill_histories.finding import FoundFiles, format_of, read_sessions, walked, why_unknown
from querymill_histories.rows import counted
from querymill_histories.session import ReadOptions, Session
from querymill_reading.document import Document, Unreadable
from querymill_reading.formats import BY_SUFFIX
from querymill_reading.process import FileReader
from tests.quality.foreign_letters import letters_lost

#: What an engine raised, and nobody foresaw.
_CRASH: Final = re.compile(r"cannot be read: \w*(?:Error|Exception|Warning)\b|ended the process|took longer")
#: Files that are named of each reason, and reasons of each format.
NAMED: Final = 5
REASONS: Final = 40
#: Letters of a reason that tell it from others.
REASON_CHARS: Final = 120


@dataclass(slots=True)
class Tally:
    """What became of the files of one format. ``unsaid`` are the lost letters of documents without a remark."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    written: int = 0
    lost: int = 0
    unsaid: int = 0

    def note(self, outcome: str, reason: str, name: str) -> None:
        """Count a file that was not read, or a remark about one that was; a crash is one whatever it was to be."""
        what = "crashed" if _CRASH.search(reason) else outcome
        self.counts[what] += 1
        self.reasons[f"{what}: {re.sub(r'[0-9]+', 'N', reason)[:REASON_CHARS]}"].append(name)


Tallies = dict[str, Tally]


def main(folder: Path) -> int:
    """Report on a folder; the exit code is 1 if a document, a history or a file of code crashed."""
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    with FileReader() as reader:
        found = {"documents": documents(files, reader.read), "histories": histories(folder), "code": code(folder)}
    for kind, tallies in found.items():
        print(kind)
        for line in report(tallies):
            print(f"  {line}", flush=True)
    return int(any(tally.counts["crashed"] for tallies in found.values() for tally in tallies.values()))


def report(tallies: Mapping[str, Tally]) -> Iterable[str]:
    """Yield the lines of a report: one for each format, and below it one for each reason with a few files."""
    for name, tally in sorted(tallies.items()):
        line = f"{name}: {', '.join(f'{count} {outcome}' for outcome, count in tally.counts.most_common())}"
        if tally.written:
            line += f"; {tally.lost} of {tally.written} letters lost, {tally.unsaid} of them without a remark"
        yield line
        ranked = sorted(tally.reasons.items(), key=lambda each: -len(each[1]))
        for reason, names in ranked[:REASONS]:
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            yield f"  {len(names)} x {reason}: {', '.join(names[:NAMED])}{more}"
        if len(ranked) > REASONS:
            yield f"  and {len(ranked) - REASONS} more reasons"


def documents(files: Iterable[Path], read: Callable[[Path], Document]) -> Tallies:
    """Read files as documents, by their endings; one whose ending is that of no document is left out."""
    tallies: Tallies = defaultdict(Tally)
    for path in files:
        ending = path.suffix.lower()
        if ending in BY_SUFFIX:
            _read_document(path, read, tallies[ending])
    return tallies


def _read_document(path: Path, read: Callable[[Path], Document], tally: Tally) -> None:
    try:
        document = read(path)
    except Unreadable as error:
        tally.note("refused", error.reason, path.name)
        return
    tally.counts["read"] += 1
    tally.counts["with remarks"] += bool(document.remarks)
    tally.counts["with a part that crashed"] += any(_CRASH.search(remark.reason) for remark in document.remarks)
    for reason in dict.fromkeys(re.sub(r"[0-9]+", "N", remark.reason) for remark in document.remarks):
        tally.reasons[f"remark: {reason[:REASON_CHARS]}"].append(path.name)
    written, lost = letters_lost(path, document)
    tally.written += written
    tally.lost += lost
    if lost and not document.remarks:
        tally.unsaid += lost
    if lost:
        said = "" if document.remarks else " without a remark"
        tally.reasons[f"letters lost{said}"].append(f"{path.name} ({lost} of {written})")


def histories(folder: Path) -> Tallies:
    """Find the histories below a folder and read them, format by format; files of no format are counted by why."""
    tallies: Tallies = defaultdict(Tally)
    found = FoundFiles()
    for path in walked(folder, found):
        try:
            known = format_of(head_of(path))
        except BROKEN as error:
            tallies["of no format"].note("refused", str(error), path.name)
            continue
        found.add(path, known)
        if known is None:
            tallies["of no format"].note("refused", why_unknown(path), path.name)
    for name, files in found.files.items():
        tallies[name].counts["files"] = len(files)
        try:
            _read_histories(name, files, tallies[name])
        except Exception as error:  # noqa: BLE001  # what a reader raises and does not foresee is what is looked for
            tallies[name].note("crashed", f"{type(error).__name__}: {error}", files[0].name)
    return tallies


def _read_histories(name: str, files: list[Path], tally: Tally) -> None:
    silent = dict.fromkeys(map(str, files))
    for _, read in read_sessions(FoundFiles({name: files}), ReadOptions()):
        if isinstance(read, Session):
            tally.counts["sessions"] += 1
            tally.counts["messages and calls"] += len(read.entries)
            for file in read.files if read.entries else ():
                silent.pop(str(file), None)
            for left in counted(read.left_out):
                tally.reasons[f"remark: {re.sub(r'[0-9]+', 'N', left)}"].append(read.source.name)
        else:
            silent = {path: None for path in silent if not read.place.startswith(path)}
            tally.note("refused places", read.reason, Path(read.place).name)
    for path in silent:
        tally.note("files without a message", "no message in it, and nothing said", Path(path).name)


def code(folder: Path) -> Tallies:
    """List a folder as a code base, by the endings of its files."""
    tallies: Tallies = defaultdict(Tally)
    try:
        for entry in Directory(folder).listed():
            name = Path(entry.path).name
            tally = tallies[Path(entry.path).suffix.lower() or name]
            match entry:
                case ListedFile():
                    tally.counts["read"] += 1
                    if entry.remark:
                        tally.reasons[f"remark: {entry.remark}"].append(name)
                case Skipped():
                    tally.note("refused", entry.reason, name)
                case NotedFolder():
                    tally.reasons[f"remark: {entry.remark}"].append(name)
    except Exception as error:  # noqa: BLE001  # as above
        tallies["the whole"].note("crashed", f"{type(error).__name__}: {error}", folder.name)
    return tallies


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
