import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.reports.rules.layout import LineBlock, blocks, header_rows, sentences

MARKDOWN = ("| year | revenue |", "|---|---|", "| 2022 | 40 |")
COLUMNS = ("Revenue    40    38", "Costs      30    29")


def read(*lines: str) -> list[LineBlock]:
    return list(blocks("\n".join(lines)))


def paragraph(*lines: str) -> LineBlock:
    return LineBlock(lines, table=False)


def table(*lines: str) -> LineBlock:
    return LineBlock(lines, table=True)


def test_blank_lines_part_paragraphs() -> None:
    assert read("one", "two", "", "  ", "three") == [paragraph("one", "two"), paragraph("three")]


def test_a_page_without_text_has_no_block() -> None:
    assert read("", "   ", "\t") == []


def test_a_table_in_markdown_ends_the_paragraph_before_it() -> None:
    assert read("Figures:", *MARKDOWN, "So much for it.") == [
        paragraph("Figures:"),
        table(*MARKDOWN),
        paragraph("So much for it."),
    ]


def test_columns_of_blanks_make_a_table() -> None:
    assert read(*COLUMNS, "", "Prose follows.") == [table(*COLUMNS), paragraph("Prose follows.")]


def test_one_row_alone_is_no_table() -> None:
    assert read("Revenue    40    38", "and then prose of some length") == [
        paragraph("Revenue    40    38", "and then prose of some length")
    ]


def test_short_lines_between_rows_in_columns_are_group_headings() -> None:
    assert read(COLUMNS[0], "", "Expenses", COLUMNS[1]) == [table(COLUMNS[0], "Expenses", COLUMNS[1])]


@pytest.mark.parametrize("between", [("a", "b", "c"), ("x" * 81,)])
def test_more_or_longer_lines_between_rows_part_them(between: tuple[str, ...]) -> None:
    assert [block.table for block in read(COLUMNS[0], *between, COLUMNS[1])] == [False]


def test_rows_in_markdown_bear_no_line_between_them() -> None:
    assert read(MARKDOWN[0], "heading", MARKDOWN[2]) == [paragraph(MARKDOWN[0], "heading", MARKDOWN[2])]


@pytest.mark.parametrize(
    ("rows", "count"),
    [(MARKDOWN, 2), (COLUMNS, 1), (("a  b", "-----  -----", "1  2"), 2), (("| a |",), 1), (("a  b", "    "), 1)],
)
def test_the_header_of_a_table_takes_in_the_rule_under_it(rows: tuple[str, ...], count: int) -> None:
    assert header_rows(rows) == count


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("It rose. It fell.", ["It rose. ", "It fell."]),
        ("Sales of 3.5 million", ["Sales of 3.5 million"]),
        ("营收增长。成本下降；", ["营收增长。", "成本下降；"]),
        ("他说：“增长了。”然后离开。", ["他说：“增长了。”", "然后离开。"]),
        ("Really?! Yes", ["Really?! ", "Yes"]),
        ("", []),
    ],
)
def test_a_line_is_cut_after_each_sentence(text: str, cut: list[str]) -> None:
    assert sentences(text) == cut


@given(st.text(alphabet="ab1 .!?。！？；”)’", max_size=60))
def test_joined_the_sentences_are_the_text(text: str) -> None:
    assert "".join(sentences(text)) == text


lines = st.lists(st.sampled_from(["", "prose", *MARKDOWN, *COLUMNS, "x" * 90, "two. blanks.  After"]), max_size=12)


@given(lines)
def test_every_line_that_is_not_blank_is_in_one_block_in_order(page: list[str]) -> None:
    found = [line for block in read(*page) for line in block.lines]
    assert found == [line for line in page if line]


@given(lines)
def test_a_table_has_at_least_two_rows(page: list[str]) -> None:
    assert all(len(block.lines) >= 2 for block in read(*page) if block.table)
