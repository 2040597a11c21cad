import pytest

from querymill_workers.retrievers.reports.rules.chunking import Chunk, PageText
from querymill_workers.retrievers.reports.rules.indexing import HEAD_WEIGHT, heads, indexed_text


def test_the_head_of_a_page_is_its_first_four_lines_that_are_not_blank() -> None:
    pages = [PageText(3, "Aurora Foods\n\n  Balance sheets \nEUR\nAssets\nCash"), PageText(4, " \n")]
    assert heads(pages) == {3: "Aurora Foods\nBalance sheets\nEUR\nAssets", 4: ""}


def test_a_passage_is_found_by_its_head_its_text_and_the_names_of_its_rows() -> None:
    text = "| | 2022 |\n|---|---|\n| Cash | 12.4 |"
    lines = indexed_text(Chunk(3, 0, text, 9), "Balance sheets").split("\n")
    assert lines[:HEAD_WEIGHT] == ["Balance sheets"] * HEAD_WEIGHT
    assert lines[HEAD_WEIGHT:-2] == text.split("\n")
    assert lines[-2] == "Cash"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("| | 2022 |\n|---|---|\n| Cash | 12.4 |", ["table"]),
        ("Net sales by region were as follows (in millions):\n", ["table"]),
        ("各地区的销售额如下：", ["table", "表格", "表中", "下表"]),
        ("Net sales rose in every region.", []),
    ],
)
def test_a_table_and_the_sentence_before_it_are_found_by_what_questions_call_them(text: str, named: list[str]) -> None:
    added = indexed_text(Chunk(3, 0, text, 9), "").removeprefix("\n" * HEAD_WEIGHT).removeprefix(text)
    assert [word for word in added.split() if word in ("table", "表格", "表中", "下表")] == named
