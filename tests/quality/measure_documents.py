"""How documents are read: what the expectations of a folder of samples say, and at what speed.

    python -m tests.quality.measure_documents SAMPLES [--page tests/quality/inputs.md] [--cells CELLS.json] [--draw N]

SAMPLES has a folder for each kind of document, with an ``expectations.json``: sentences with their pages, cells of
tables with the names of their row and column, what must not appear, and how broken files are refused. ``--draw`` prints
cells drawn at random from what was read, to be judged by eye. ``--cells`` holds such judgements.
"""

import argparse
import json
import random
import re
import time
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pypdfium2

from querymill_reading.document import Document, ReadLimits, Unreadable
from querymill_reading.formats import BY_NAME
from querymill_reading.process import FileReader
from querymill_reading.read_request import ReadRequest
from querymill_reading.rules.tables import is_value

HEADING: Final = "## Documents"
REPEATS: Final = 3


@dataclass(frozen=True, slots=True)
class Check:
    """One expectation: of which file, of what sort, and whether it was met."""

    file: str
    sort: str
    met: bool
    about: str = ""


def plain(text: str) -> str:
    """Return a text as it is compared: without blanks that differ, hyphenated line ends, ligatures."""
    text = unicodedata.normalize("NFKC", text).replace("’", "'").replace("“", '"').replace("”", '"')
    return re.sub(r"\s+", "", re.sub(r"[*`_\\/]", "", text)).casefold()


def checks(kind: Path, reader: FileReader) -> Iterator[Check]:
    """Yield the checks of a folder of samples."""
    expected = json.loads((kind / "expectations.json").read_text(encoding="utf-8"))
    for file in expected["files"]:
        name, password = file["file"], file.get("user_password")
        try:
            document = reader.read(kind / name)
        except Unreadable as error:
            yield Check(name, "refused with the reason", _may_be_refused(file), str(error))
            if password:
                yield from of_document(name, file, reader.read(kind / name, password=password))
            continue
        if password or file.get("text_layer") is False or file.get("pages") == 0:
            yield Check(name, "refused with the reason", met=False, about="it was read")
        yield from of_document(name, file, document)


def _may_be_refused(file: Mapping[str, Any]) -> bool:
    return bool(file.get("user_password")) or file.get("text_layer") is False or file.get("pages") == 0


def of_document(name: str, file: Mapping[str, Any], document: Document) -> Iterator[Check]:
    """Yield the checks of a document that was read."""
    texts = {page.number: plain(page.text) for page in document.pages}
    whole = "".join(texts.values())
    if isinstance(file.get("pages"), int):
        yield Check(name, "pages", len(texts) == file["pages"], f"{len(texts)} of {file['pages']}")
    yield from _of_sentences(name, file, texts)
    for cell in (file.get("table_cell"), file.get("second_cell")):
        if cell:
            yield Check(name, "cell with row and column", has_cell(document, cell), f"{cell['row']}: {cell['value']}")
    for text in (*file.get("must_not_appear", ()), *file.get("must_not_appear_in_text", ())):
        yield Check(name, "left out", plain(text) not in whole, text)
    if file.get("title"):
        met = plain(file["title"]) == plain(document.proposed.get("title", ""))
        yield Check(name, "title", met, document.proposed.get("title", ""))
    for heading in file.get("headings", ()):
        met = plain(re.sub(r" \(\d\)$", "", heading)) in whole
        yield Check(name, "heading", met, heading)


def _of_sentences(name: str, file: Mapping[str, Any], texts: Mapping[int, str]) -> Iterator[Check]:
    whole = "".join(texts.values())
    for sentence in file["sentences"]:
        wanted = plain(sentence["text"])
        found = whole if sentence.get("page") is None else texts.get(sentence["page"], "")
        yield Check(name, "sentence on its page", wanted in found, sentence["text"][:60])
        place = sentence.get("chapter") or sentence.get("heading") or sentence.get("sheet")
        if place:
            met = any(wanted in text and plain(place) in text for text in texts.values())
            yield Check(name, "sentence under its heading", met, sentence["text"][:60])


def tables_in(text: str) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Yield the tables of a page: the names of the columns, and the rows."""
    for block in re.findall(r"(?:^\|.*\|$\n?)+", text, re.MULTILINE):
        lines = [[part.strip() for part in line.strip()[1:-1].split("|")] for line in block.strip().split("\n")]
        yield lines[0], lines[2:]


def has_cell(document: Document, cell: Mapping[str, Any]) -> bool:
    """Return whether a value stands in a table with the names of its row and its column."""
    pages = [page for page in document.pages if cell.get("page") in (None, page.number)]
    if cell.get("sheet"):
        pages = [page for page in pages if page.text.startswith(cell["sheet"])]
    return any(_in_table(table, cell) for page in pages for table in tables_in(page.text))


def _in_table(table: tuple[list[str], list[list[str]]], cell: Mapping[str, Any]) -> bool:
    header, rows = table
    wanted, row_name, column = plain(cell["value"]), plain(cell["row"]), cell.get("column")
    if numbered := re.fullmatch(r"row (\d+)", cell["row"]):
        at, column_at = int(numbered[1]) - 1, int(str(column).split()[-1]) - 1
        every = [header, *rows]
        return len(every) > at and wanted in plain(every[at][column_at])
    parts = [plain(part) for part in str(column or "").split("/")]
    for row in rows:
        for at, value in enumerate(row):
            if wanted not in plain(value):
                continue
            named = row_name in plain(row[0]) or plain(value) != wanted
            if named and (column is None or all(part in plain(header[at]) for part in parts)):
                return True
    # A form has the name of a value in its own cell.
    return column is None and any(
        wanted in plain(value) and row_name[:20] in plain(value) for row in rows for value in row
    )


def drawn_cells(kinds: Sequence[Path], reader: FileReader, number: int, seed: int) -> list[dict[str, Any]]:
    """Draw figures of tables at random, each with the names that it came out with."""
    every: list[dict[str, Any]] = []
    for kind in kinds:
        for path in sorted(kind.iterdir()):
            if path.name == "expectations.json":
                continue
            try:
                document = reader.read(path)
            except Unreadable:
                continue
            for page in document.pages:
                for header, rows in tables_in(page.text):
                    for row in rows:
                        every.extend(
                            {
                                "file": path.name,
                                "page": page.number,
                                "row": row[0],
                                "column": header[at],
                                "value": value,
                            }
                            for at, value in enumerate(row)
                            if at and is_value(value) and re.search(r"\d", value)
                        )
    return random.Random(seed).sample(every, min(number, len(every)))


def speeds(kinds: Sequence[Path]) -> list[tuple[str, int, float, float]]:
    """Return for each PDF its pages, and pages/s: of the engine alone, giving its text, and of reading it whole."""
    found = []
    for path in sorted(path for kind in kinds for path in kind.glob("*.pdf")):
        try:
            pages = len(BY_NAME["pdf"].read(ReadRequest(path, path.name, ReadLimits())).pages)
        except Unreadable:
            continue
        engine = min(_timed(lambda path=path: _text_of(path)) for _ in range(REPEATS))
        whole = min(_timed(lambda path=path: BY_NAME["pdf"].read(ReadRequest(path, path.name))) for _ in range(REPEATS))
        found.append((path.name, pages, pages / engine, pages / whole))
    return found


def _text_of(path: Path) -> None:
    with pypdfium2.PdfDocument(path) as document:
        for page in document:
            page.get_textpage().get_text_range()


def _timed(run: Any) -> float:
    began = time.perf_counter()
    run()
    return time.perf_counter() - began


def table_of(found: Sequence[Check]) -> str:
    """Write the checks as a table: for each file how many of each sort were met, and what was not."""
    lines = ["| file | met | not met |", "| --- | --- | --- |"]
    for name in dict.fromkeys(check.file for check in found):
        own = [check for check in found if check.file == name]
        # Not what the expectation says: texts of others do not go into the page.
        missed = "; ".join(check.sort for check in own if not check.met)
        lines.append(f"| {name} | {sum(check.met for check in own)} of {len(own)} | {missed} |")
    return "\n".join(lines)


def section(
    found: Sequence[Check], speed: Sequence[tuple[str, int, float, float]], cells: Mapping[str, Any] | None
) -> str:
    """Write the section of the page."""
    lines = [
        HEADING,
        "",
        "Made by `python -m tests.quality.measure_documents SAMPLES`: the expectations of a folder of samples",
        "(sentences on their pages, cells with the names of row and column, titles, what is left out or refused).",
        "",
        table_of(found),
        "",
        f"In all {sum(check.met for check in found)} of {len(found)} expectations are met.",
        "",
    ]
    if cells is not None:
        lines += [cells["said"], ""]
    lines += [
        "Speed, in pages/s on one core, best of three; the engine alone gives text without places or tables:",
        "",
        "| file | pages | engine alone | read whole |",
        "| --- | --- | --- | --- |",
        *(f"| {name} | {pages} | {engine:.0f} | {whole:.0f} |" for name, pages, engine, whole in speed),
        "",
    ]
    return "\n".join(lines)


def with_section(page: str, written: str) -> str:
    """Put the section into a page, instead of the one that it has."""
    before, _, after = page.partition(HEADING)
    rest = re.split(r"\n(?=## )", after, maxsplit=1)
    others = rest[1] if len(rest) > 1 else ""
    return f"{before.rstrip()}\n\n{written}" + (f"\n{others}" if others else "")


def main() -> None:
    """Measure, print, and write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("samples", type=Path)
    options.add_argument("--page", type=Path)
    options.add_argument("--cells", type=Path, help='{"said": "what was judged by eye"}')
    options.add_argument("--draw", type=int, default=0)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    kinds = sorted(path.parent for path in given.samples.glob("*/expectations.json"))
    with FileReader() as reader:
        if given.draw:
            for cell in drawn_cells(kinds, reader, given.draw, given.seed):
                print(json.dumps(cell, ensure_ascii=False))
            return
        found = [check for kind in kinds for check in checks(kind, reader)]
    cells = json.loads(given.cells.read_text(encoding="utf-8")) if given.cells else None
    written = section(found, speeds(kinds), cells)
    print(written)
    if given.page:
        page = given.page.read_text(encoding="utf-8") if given.page.exists() else "# Inputs: how files are read\n"
        given.page.write_text(with_section(page, written), encoding="utf-8")


if __name__ == "__main__":
    main()
