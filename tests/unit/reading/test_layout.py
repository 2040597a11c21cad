"""Letters become words, lines, columns and paragraphs in the order in which they are read."""

from collections.abc import Sequence

import pytest

from querymill_reading.rules.directions import apart
from querymill_reading.rules.furniture import without_furniture
from querymill_reading.rules.layout import (
    Rule,
    Segment,
    TextLine,
    Word,
    columns,
    glued_on,
    lines_of,
    segments_of,
    widened,
)
from querymill_reading.rules.letters import NO_CHARACTER, Letter, character, words_of
from querymill_reading.rules.paragraphs import blocks
from querymill_reading.rules.sections import SectionPart, sections
from querymill_reading.rules.wrapping import joined


def letters(text: str, x: float = 0, y: float = 0, size: float = 10) -> list[Letter]:
    return [(ord(letter), x + 5 * at, y, x + 5 * at + 5, y + size) for at, letter in enumerate(text)]


def segment(text: str, x0: float, y: float, x1: float | None = None, size: float = 10) -> Segment:
    return Segment(text, x0, x0 + 5 * len(text) if x1 is None else x1, y, size)


@pytest.mark.parametrize("code", [0x110000, 0xE0E0E0, 0xE38081, 0xF0A8A780])
def test_a_code_that_is_no_character_ends_a_word_and_is_not_read(code: int) -> None:
    """Fonts of other programs name letters by their bytes in UTF-8."""
    assert character(0x41) == 0x41
    assert character(code) == NO_CHARACTER
    letters: list[Letter] = [(ord("a"), 10, 0, 15, 10), (character(code), 15, 0, 20, 10), (ord("b"), 20, 0, 25, 10)]
    assert [word.text for word in words_of(letters)] == ["a", "b"]


def test_letters_with_a_gap_are_two_words_without_a_blank() -> None:
    found = words_of([*letters("two"), *letters("words", x=18)])
    assert [word.text for word in found] == ["two", "words"]


def test_a_raised_footnote_sign_does_not_become_part_of_the_figure() -> None:
    found = words_of([*letters("2,557.2"), (ord("8"), 35, 4, 38, 10)])
    assert [segment.text for segment in segments_of(found)] == ["2,557.2 [8]"]
    assert glued_on("km", "2") == "2"
    assert glued_on("EBITDA", "1") == " [1]"


def test_a_footnote_sign_that_was_drawn_elsewhere_finds_its_word() -> None:
    words = [Word("(1)", 50, 57, -4, 6), Word("Debt", 20, 50, 0, 10), Word("991", 100, 115, 0, 10)]
    assert [segment.text for segment in segments_of(words)] == ["Debt [1]", "991"]


def test_a_page_that_is_turned_is_read_along_its_lines() -> None:
    upwards = [(ord(letter), 0.0, 5.0 * at, 10.0, 5.0 * at + 5) for at, letter in enumerate("upwards")]
    assert [word.text for word in words_of(upwards)] == ["upwards"]


def test_a_page_that_is_upside_down_is_read_along_its_lines() -> None:
    around = [(ord(letter), 100 - 5.0 * at, 0.0, 105 - 5.0 * at, 10.0) for at, letter in enumerate("around")]
    (only,) = apart(around, [180.0] * 6)
    assert [word.text for word in words_of(only)] == ["around"]


def test_words_that_are_drawn_from_their_end_are_read_from_their_beginning() -> None:
    def backwards(text: str, x: float) -> list[Letter]:
        return letters(text, x=x)[::-1]

    words = words_of([*backwards("quay", 50), *backwards("(1,452.5)", 80), *letters("usual", x=140)])
    assert [(word.text, word.x0, word.x1) for word in words] == [
        ("quay", 50, 70), ("(1,452.5)", 80, 125), ("usual", 140, 165),
    ]  # fmt: skip
    assert [word.text for word in words_of(backwards("a whole line, i", 50))] == ["i", "line,", "whole", "a"][::-1]


def test_a_break_between_letters_that_touch_ends_no_word() -> None:
    drawn = [each for letter in letters("quay") for each in (letter, (13, letter[3], 0, letter[3], 0))]
    below = letters("mole", y=-12)
    assert [word.text for word in words_of([*drawn, (10, 20, 0, 20, 0), *below])] == ["quay", "mole"]


def test_a_side_without_running_text_is_no_column_of_text() -> None:
    narrow = [Segment("a text of many letters", x, x, y, 10) for x in (0.0, 300.0) for y in range(0, 120, 12)]
    assert [text for column in columns(narrow) for text in column]


def test_hebrew_is_read_from_the_right_and_figures_in_it_from_the_left() -> None:
    drawn = [(ord(letter), 95 - 5.0 * at, 0.0, 100 - 5.0 * at, 10.0) for at, letter in enumerate("שלום עולם,")]
    found = words_of([*drawn, *letters("15", x=30), *letters("km", x=42)])
    assert [word.text for word in found] == ["שלום", "עולם,", "15", "km"]
    assert [segment.text for segment in segments_of(found)] == ["שלום עולם, 15 km"]
    assert segments_of(words_of([*letters("see", x=30), *drawn]))[0].text == "שלום עולם, see"


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ((("עובד", 31, 51), ("11:", 10, 31)), "עובד:11"),
        ((("עובד", 36, 56), ("11:", 10, 31)), "עובד :11"),
        ((("ב", 31, 36), ("15-", 10, 31)), "ב-15"),
        ((("שנת", 41, 56), ("(2019)", 6, 36)), "שנת (2019)"),
        ((("שכר", 41, 56), ("7.5%", 16, 36)), "שכר 7.5%"),
        ((("שכר", 41, 56), ("-7", 26, 36)), "שכר -7"),
        ((("סך", 41, 51), (".15", 20, 35)), "סך 15."),
    ],
)
def test_signs_at_the_edge_of_a_figure_follow_the_line(words: Sequence[tuple[str, float, float]], shown: str) -> None:
    (found,) = segments_of([Word(text, x0, x1, 0, 10) for text, x0, x1 in words])
    assert found.text == shown


def test_arabic_shapes_become_letters() -> None:
    shapes = [(code, 95 - 5.0 * at, 0.0, 100 - 5.0 * at, 10.0) for at, code in enumerate((0xFEB3, 0xFEFC, 0xFEE1))]
    assert [word.text for word in words_of(shapes)] == ["سلام"]


def test_lam_and_alef_in_one_sign_come_in_their_order() -> None:
    box = (90.0, 0.0, 95.0, 10.0)
    found = words_of([(0x633, 95.0, 0.0, 100.0, 10.0), (0x627, *box), (0x644, *box), (0x645, 85.0, 0.0, 90.0, 10.0)])
    assert [word.text for word in found] == ["سلام"]


def test_a_letter_that_comes_in_two_halves_is_one() -> None:
    halves: list[Letter] = [(0xD835, 0, 0, 5, 10), (0xDC65, 0, 0, 5, 10)]
    assert [word.text for word in words_of([*halves, *letters("y", x=5)])] == ["\U0001d465y"]


def test_what_is_turned_otherwise_than_the_page_is_read_by_itself() -> None:
    body = letters("the text of the page")
    label = [(ord(letter), -20.0, 5.0 * at, -10.0, 5.0 * at + 5) for at, letter in enumerate("label")]
    mixed = [*body[:4], *label, *body[4:]]
    angles = [0.0] * 4 + [270.0] * 5 + [0.0] * (len(body) - 4)
    found = [[word.text for word in words_of(few)] for few in apart(mixed, angles)]
    assert found == [["the", "text", "of", "the", "page"], ["label"]]


def test_a_watermark_aslant_is_read_along_its_line() -> None:
    step = 5 / 2**0.5
    aslant = [(ord(letter), step * at, -step * at, step * at + 10, 10 - step * at) for at, letter in enumerate("DRAFT")]
    (only,) = apart(aslant, [45.0] * 5)
    assert [word.text for word in words_of(only)] == ["DRAFT"]


def test_words_far_apart_are_segments_and_numbers_are_sooner() -> None:
    words = [Word("a", 0, 5, 0, 10), Word("b", 10, 15, 0, 10), Word("c", 40, 45, 0, 10)]
    assert [segment.text for segment in segments_of(words)] == ["a b", "c"]
    numbers = [Word("12.5", 0, 20, 0, 10), Word("13.1", 25, 45, 0, 10)]
    assert [segment.text for segment in segments_of(numbers)] == ["12.5", "13.1"]


def test_columns_of_text_are_read_one_after_the_other_and_a_title_across_them_first() -> None:
    left = [segment(f"left column line {at} with words", 0, 20 + 12 * at, 200) for at in range(8)]
    right = [segment(f"right column line {at} of words", 220, 20 + 12 * at, 420) for at in range(8)]
    title = segment("A title across both of the columns", 100, 0, 320)
    mixed = [title, *(each for pair in zip(left, right, strict=True) for each in pair)]
    assert list(columns(mixed)) == [[title], left, right]


def test_three_columns_of_text_are_read_one_after_the_other() -> None:
    sides = [[segment(f"column {side} line {at} of words", 220 * side, 12 * at, 220 * side + 200) for at in range(8)]
             for side in range(3)]  # fmt: skip
    mixed = [each for row in zip(*sides, strict=True) for each in row]
    assert list(columns(mixed)) == sides


def test_columns_with_many_short_lines_are_columns_of_text() -> None:
    left = [segment(f"left column line {at} with words", 0, 20 + 12 * at, 200) for at in range(8)]
    short = [segment(f"{at}. Rates", 0, 120 + 12 * at, 40) for at in range(9)]
    right = [segment(f"right column line {at} of words", 220, 20 + 12 * at, 420) for at in range(17)]
    mixed = sorted([*left, *short, *right], key=lambda each: each.y)
    assert list(columns(mixed)) == [[*left, *short], right]


def test_a_table_is_no_columns() -> None:
    rows = [[segment(f"Sales of ship {at}", 0, 12 * at, 90), segment("1,452", 300, 12 * at, 330)] for at in range(9)]
    mixed = [each for line in rows for each in line]
    assert list(columns(mixed)) == [mixed]


def test_a_rule_under_a_name_shows_how_far_it_reaches() -> None:
    line = TextLine((segment("2023", 200, 10, 220),))
    (wide,) = widened(line, [Rule(150, 280, 12)]).segments
    assert (wide.x0, wide.x1) == (150, 280)
    assert widened(line, [Rule(150, 280, 40)]) == line


def test_paragraphs_are_joined_and_tables_keep_their_rows() -> None:
    texts = [
        segment("The ferry was late because of a hea-", 0, 0), segment("vy storm.", 0, 12),
        segment("2023", 200, 60, 220), segment("Ships", 0, 72), segment("9", 210, 72, 215),
        segment("Crew", 0, 84), segment("70", 208, 84, 218),
        segment("And this is the end of the report, which has many words in it.", 0, 140),
    ]  # fmt: skip
    assert list(blocks(lines_of(texts))) == [
        "The ferry was late because of a heavy storm.",
        "|  | 2023 |\n| --- | --- |\n| Ships | 9 |\n| Crew | 70 |",
        "And this is the end of the report, which has many words in it.",
    ]


def test_the_name_of_a_row_is_one_wherever_its_values_stand_beside_it() -> None:
    def rows(first: float, *, named: bool) -> list[TextLine]:
        upper, lower = segment("Comparable Constant", 0, first), segment("Growth %", 0, first + 8)
        if named:
            upper, lower = segment("Comparable Constant", 0, first - 8), segment("Growth %", 0, first)
        return lines_of([upper, lower, segment("(5)", 200, first), segment("1", 300, first)])

    def beside(y: float) -> list[TextLine]:
        return lines_of([segment(f"Sales {y:.0f}", 0, y), segment("7", 205, y), segment("8", 300, y)])

    head = lines_of([segment("2023", 200, 0), segment("2022", 300, 0)])
    regular = [*beside(14), *beside(28), *beside(42)]
    around = [segment("Comparable Constant", 0, 56), segment("Growth %", 0, 64)]
    between = lines_of([*around, segment("(5)", 200, 60), segment("1", 300, 60)])
    for wrapped in (rows(56, named=False), rows(64, named=True), between):
        (table,) = blocks([*head, *regular, *wrapped, *beside(80)])
        assert "| Comparable Constant Growth % | (5) | 1 |" in table.splitlines()


def test_a_heading_of_rows_is_no_part_of_their_names() -> None:
    def beside(name: str, y: float) -> list[Segment]:
        return [segment(name, 0, y), segment("7", 205, y), segment("8", 300, y)]

    lines = lines_of([
        segment("2023", 200, 0), segment("2022", 300, 0), *beside("Cash", 12), *beside("Debt", 24), *beside("Sum", 36),
        segment("Equity", 0, 48), *beside("Shares", 60),
    ])  # fmt: skip
    (table,) = blocks(lines)
    assert table.splitlines()[-2:] == ["| Equity |  |  |", "| Shares | 7 | 8 |"]


def test_the_hyphen_of_a_word_stays_at_the_end_of_a_line() -> None:
    assert joined("attributable to non-", "controlling interests") == "attributable to non-controlling interests"
    assert joined("a year-over-", "year change") == "a year-over-year change"
    assert joined("the finan-", "cial year") == "the financial year"


def test_letters_that_reach_below_the_line_are_part_of_their_word() -> None:
    boxes = [("m", 0.0, 8.0), ("a", 0.0, 8.0), ("y", -2.6, 8.0), ("o", 0.0, 8.0), ("r", 0.0, 8.0)]
    inked = [(ord(letter), 5.0 * at, low, 5.0 * at + 5, high) for at, (letter, low, high) in enumerate(boxes)]
    assert [word.text for word in words_of(inked)] == ["mayor"]


def test_a_line_that_ends_within_a_word_ends_no_paragraph() -> None:
    lines = lines_of([segment("so that the resist-", 0, 0), segment("ance grows with the square of it, in all", 0, 12)])
    assert list(blocks(lines)) == ["so that the resistance grows with the square of it, in all"]


def test_chinese_lines_are_joined_without_a_blank() -> None:
    assert joined("又称化学反应式，是用来描述", "各种物质之间的式子") == "又称化学反应式，是用来描述各种物质之间的式子"
    assert joined("two", "lines") == "two lines"


def test_headers_footers_and_page_numbers_are_taken_out_and_numbers_kept_as_labels() -> None:
    pages = [["Nordhav ASA", f"text {'abcd'[at]}", "Annual report", f"{at + 5}"] for at in range(4)]
    found = without_furniture(pages)
    assert [[page[at] for at in clean.kept] for page, clean in zip(pages, found, strict=True)] == [
        ["Nordhav ASA", "text a", "Annual report"], ["text b"], ["text c"], ["text d"],
    ]  # fmt: skip
    assert [clean.label for clean in found] == ["5", "6", "7", "8"]


@pytest.mark.parametrize(
    ("line", "stays"),
    [
        ("Exhibit 2.3-{1} (Cont. {2})", True),
        ("Total {3}", True),
        ("Berth {3}: water 4 m", True),
        ("Harbour report {0}", False),
        ("Leaf {0} of 12", False),
        ("{0} of 40 - leaf {0}", False),
        ("Sheet {5} | {6}", False),
        ("VerDate Sep<11>2014 16:21 Aug 05, 2020 Frm 0{0} Fmt 4702 Sfmt 47{3}", False),
        ("2.3.{1} Manual of the harbour board of Tinn and Moss, edition of 2022", False),
    ],
)
def test_a_number_that_counts_with_the_pages_is_furniture(line: str, stays: bool) -> None:
    pages = []
    for at in range(12):
        values = (at + 7, (7, 7, 9, 9, 9, 13)[at // 2], at % 2 + 1, 37 * at * at % 101, 0, 2 * at, 2 * at)
        pages.append([line.format(*values), f"text {'abcdefghijkl'[at]}", "more of it", "and so on"])
    kept = [clean.kept for clean in without_furniture(pages)]
    assert all((0 in few) is (stays or not at) for at, few in enumerate(kept))


def test_short_pages_keep_what_repeats_on_them() -> None:
    pages = [["Card", str(at)] for at in range(5)]
    assert [clean.kept for clean in without_furniture(pages)] == [(0, 1)] * 5


def test_what_is_on_two_pages_only_stays() -> None:
    assert [clean.kept for clean in without_furniture([["same"], ["same"]])] == [(0,), (0,)]


def test_a_section_begins_with_the_headings_that_it_stands_under() -> None:
    long = "word " * 200
    parts = [SectionPart("Agents", 1), SectionPart(long), SectionPart("State", 2), SectionPart("It is shared.")]
    assert sections(parts) == [f"Agents\n\n{long}", "Agents › State\n\nIt is shared."]


def test_a_heading_without_text_joins_the_next_section() -> None:
    assert sections([SectionPart("Agents", 1), SectionPart("State", 2), SectionPart("It is shared.")]) == [
        "Agents › State\n\nIt is shared."
    ]
