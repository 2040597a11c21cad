"""Read other people's documents and report, by format: read, refused, remarked, crashed, letters lost.

    make foreign DIR=folder

Letters are compared with the raw text of the XML inside of files that are packages: of each letter and digit there, as
many must be in what was read. Nothing is stored.
"""

import re
import sys
import zipfile
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from querymill_reading.document import Document, Unreadable
from querymill_reading.formats import BY_SUFFIX
from querymill_reading.process import FileReader

#: What an engine raised, and nobody foresaw.
_CRASH: Final = re.compile(r"cannot be read: \w*(?:Error|Exception)\b|ended the process|took longer")
#: Members with the text of a package, and what stands in their text.
_MEMBERS: Final = re.compile(
    r"(?:word/(?:document|footnotes|endnotes|header\d*|footer\d*)|ppt/slides/slide\d+|content)\.xml"
)
_TEXT: Final = re.compile(r"<(?:w|a):t(?:\s[^>]*)?>([^<]*)<|<text:(?:p|h|span)\b[^>]*>([^<]*)<")
#: Examples that are named of each reason.
NAMED: Final = 5


@dataclass(slots=True)
class Tally:
    """What became of the files of one format."""

    counts: Counter[str] = field(default_factory=Counter)
    reasons: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    written: int = 0
    lost: int = 0


def main(folder: Path) -> int:
    """Report on a folder; the exit code is 1 if a document crashed."""
    tallies: dict[str, Tally] = defaultdict(Tally)
    with FileReader() as reader:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            ending = path.suffix.lower()
            if ending in BY_SUFFIX:
                _read(path, reader, tallies[ending])
    for ending, tally in sorted(tallies.items()):
        print(f"{ending}: {', '.join(f'{count} {name}' for name, count in tally.counts.most_common())}", end="")
        print(f"; {tally.lost} of {tally.written} letters lost" if tally.written else "")
        for reason, names in sorted(tally.reasons.items(), key=lambda each: -len(each[1])):
            more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
            print(f"  {len(names)} x {reason}: {', '.join(names[:NAMED])}{more}")
    return int(any(tally.counts["crashed"] for tally in tallies.values()))


def _read(path: Path, reader: FileReader, tally: Tally) -> None:
    try:
        document = reader.read(path)
    except Unreadable as error:
        is_crash = _CRASH.search(error.reason)
        tally.counts["crashed" if is_crash else "refused"] += 1
        tally.reasons[_kind(f"{'crashed' if is_crash else 'refused'}: {error.reason}")].append(path.name)
        return
    tally.counts["read"] += 1
    tally.counts["with remarks"] += bool(document.remarks)
    for reason in dict.fromkeys(_kind(remark.reason) for remark in document.remarks):
        tally.reasons[f"remark: {reason}"].append(path.name)
    tally.counts["with a part that crashed"] += any(_CRASH.search(remark.reason) for remark in document.remarks)
    written, lost = letters_lost(path, document)
    tally.written += written
    tally.lost += lost
    if lost:
        tally.reasons["letters lost"].append(f"{path.name} ({lost} of {written})")


def _kind(reason: str) -> str:
    return re.sub(r"\d+", "N", reason)[:100]


def letters_lost(path: Path, document: Document) -> tuple[int, int]:
    """Return how many letters and digits the XML of a package has, and how many of them were not read."""
    if not zipfile.is_zipfile(path):
        return 0, 0
    raw: Counter[str] = Counter()
    with zipfile.ZipFile(path) as archive:
        for name in filter(_MEMBERS.fullmatch, archive.namelist()):
            try:
                content = archive.read(name).decode(errors="replace")
            except (zipfile.BadZipFile, OSError, ValueError):
                continue
            raw.update("".join(one or other for one, other in _TEXT.findall(re.sub(r"&[^;]{1,8};", " ", content))))
    read = Counter("".join(page.text for page in document.pages))
    wanted = {letter: count for letter, count in raw.items() if letter.isalnum()}
    return sum(wanted.values()), sum(max(count - read[letter], 0) for letter, count in wanted.items())


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
