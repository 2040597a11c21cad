"""Rows that look like those of a table and are text; and real tables, which stay."""

from collections.abc import Sequence

import pytest

from querymill_reading.rules.layout import Segment, TextLine, lines_of
from querymill_reading.rules.paragraphs import blocks
from querymill_reading.rules.running_rows import running_text

WORDS = (
    "the quay was built before the war for ships of", "the northern line and has been widened twice since",
    "then so that two of them may lie beside each other", "while a third one waits in the outer harbour until",
    "the tide is high enough for it to pass over the bar", "and the pilots have come back from the light ship",
)  # fmt: skip


def row(y: float, *cells: tuple[str, float] | tuple[str, float, float], size: float = 10) -> TextLine:
    """Place cells on a line: a text, where it begins, and where it ends, else 5 points a letter."""
    placed = ((text, x0, end[0] if end else x0 + 5 * len(text)) for text, x0, *end in cells)
    return TextLine(tuple(Segment(text, x0, x1, y, size) for text, x0, x1 in placed))


def written(rows: Sequence[TextLine]) -> list[str]:
    return list(blocks(rows))


def test_headings_in_a_margin_stand_before_their_text() -> None:
    rows = [
        row(0, ("2.1", 0), ("(1)", 100), (WORDS[0], 130, 370)),
        row(12, ("(12-12-2022)", 0), (WORDS[1], 130, 372)),
        row(24, ("Scope and", 0), (WORDS[2], 130, 371)),
        row(36, ("objectives", 0), ("of that.", 130)),
        row(66, ("2.2", 0), ("(1)", 100), (WORDS[3], 130, 370)),
        row(78, ("Authority", 0), (WORDS[4], 130, 372)),
    ]
    assert written(rows) == [
        "2.1 (12-12-2022) Scope and objectives", f"(1) {' '.join(WORDS[:3])} of that.",
        "2.2 Authority", f"(1) {WORDS[3]} {WORDS[4]}",
    ]  # fmt: skip


def test_text_beside_text_is_read_one_column_after_the_other() -> None:
    rows = [row(12 * at, (text, 0, 230), (WORDS[-1 - at], 250, 480)) for at, text in enumerate(WORDS)]
    assert written(rows) == [" ".join(WORDS), " ".join(WORDS[::-1])]


def test_blanks_of_justified_lines_part_nothing() -> None:
    rows = [
        row(0, ("[6] A. Aho, R. Sethi, J. Ullman, and M. Lam.", 0, 190), ("Compilers: Principles,", 206, 300)),
        row(12, ("techniques, and tools, which were edited by them in two thousand", 10, 300)),
        row(24, ("[7] V. Bala, E. Duesterwald, and S. Banerjia.", 0, 170), ("Dynamo: A transparent one", 182, 300)),
        row(36, ("dynamic optimisation system, in the proceedings of the year", 10, 300)),
    ]
    assert not any("|" in text for text in written(rows))


def test_the_ticks_of_charts_are_no_table() -> None:
    ticks = [(str(at), 20.0 * at, 20.0 * at + 8) for at in range(1, 10)]
    rows = [line for at in range(3) for line in (row(40 * at, ("Layer", 0)), row(40 * at + 12, *ticks))]
    assert not any("|" in text for text in written(rows))


def test_labels_of_a_drawing_are_no_table() -> None:
    places = [(10, 300), (55, 230), (120, 350), (33, 270), (90, 410), (140, 190)]
    rows = [row(12 * at, (f"state {'abcdef'[at]}", x), ("ready to go", y)) for at, (x, y) in enumerate(places)]
    assert not any("|" in text for text in written(rows))


@pytest.mark.parametrize(
    "rows",
    [
        [row(12 * at, (str(year), 0), ("1,452", 200), ("1,146", 300)) for at, year in enumerate(range(2015, 2020))],
        [row(12 * at, ("Sales of ferries", 0), ("2", 200), ("4", 300), ("6", 400), ("8", 500)) for at in range(4)],
        [row(12 * at, *((str(at * step), 40.0 * step) for step in range(1, 6))) for at in range(1, 5)],
        [row(12 * at, (f"10.{at}", 0), (f"Agreement with the harbour board of {name}", 60)) for at, name in
         enumerate(("Tinn", "Moss and all of its islands", "Horten", "Larvik in the south", "Drammen"))],
        [row(12 * at, (f"push e{name}", 0), (f"// put the argument {name} of the call on the stack", 150))
         for at, name in enumerate("abcdef")],
        [row(0, ("Name", 0), ("Port", 100), ("Office", 200)),
         *(row(12 * at, (name, 0), ("Tinn", 100), ("pilot", 200)) for at, name in enumerate(("Moe", "Lie", "Aas"), 1))],
        [row(30 * at, ("Definer", 0), ("Y", 80), (f"{text[:30]} of it", 120)) for at, text in enumerate(WORDS)],
    ],
    ids=["years", "steps beside names", "products", "exhibits", "comments", "words", "flags"],
)  # fmt: skip
def test_tables_stay(rows: Sequence[TextLine]) -> None:
    assert running_text(rows) is None
    assert all(text.startswith("|") for text in written(rows))


def test_many_rows_of_words_are_no_headings() -> None:
    rows = [row(12 * at, (f"Exhibit {at}", 0), ("Display of the port", 100)) for at in range(9)]
    last = row(12 * 9, ("Manual", 0), ("12-12-2022", 100))
    (table,) = written([*rows, last])
    assert table.splitlines()[0] == "| Exhibit 0 | Display of the port |"
    assert len(table.splitlines()) == 11


def test_lines_far_apart_are_no_paragraph_and_a_hyphen_begins_an_item() -> None:
    far = lines_of([Segment("0.3 =", 0, 25, 0, 10), Segment("1", 60, 65, 500, 10)])
    assert written(far) == ["0.3 =", "1"]
    double = lines_of([Segment(text, 0, 230, 22 * at, 10) for at, text in enumerate(WORDS)])
    assert written(double) == [" ".join(WORDS)]
    items = lines_of([Segment(f"- {text}", 0, 230, 12 * at, 10) for at, text in enumerate(WORDS[:3])])
    assert written(items) == [f"- {text}" for text in WORDS[:3]]
    dash = lines_of([Segment(text, 0, 230, 12 * at, 10) for at, text in enumerate((WORDS[0], "- " + WORDS[1]))])
    assert written(dash) == [f"{WORDS[0]} - {WORDS[1]}"]


def test_what_is_wrapped_in_the_last_row_stays_in_its_table() -> None:
    rows = [
        row(0, ("Tag", 0), ("Type", 60), ("What it is", 160)),
        row(12, ("000", 0), ("object", 60), ("a handle of it", 160)),
        row(24, ("110", 0), ("boolean", 60), ("one of three", 160)),
        row(36, ("null, or", 60)), row(48, ("undefined", 60)),
    ]  # fmt: skip
    (table,) = written([*rows])
    assert table.splitlines()[-2:] == ["|  | null, or |  |", "|  | undefined |  |"]
