import pytest

from querymill_workers.retrievers.reports.rules.chunking import Chunk, PageText
from querymill_workers.retrievers.reports.rules.indexing import HEAD_LINE_CHARS, HEAD_WEIGHT, heads, indexed_text


def test_the_head_of_a_page_is_its_first_four_lines_that_are_not_blank() -> None:
    pages = [PageText(3, "Aurora Foods\n\n  Balance sheets \nEUR\nAssets\nCash"), PageText(4, " \n")]
    assert heads(pages) == {3: "Aurora Foods\nBalance sheets\nEUR\nAssets", 4: ""}


def test_a_paragraph_in_one_line_gives_a_head_as_long_as_one_in_printed_lines() -> None:
    printed = [
        "Legal proceedings",
        *["The outcome of such a claim will not have a material effect on our results."] * 9,
    ]
    as_lines, as_paragraph = "\n".join(printed), "\n\n".join([printed[0], " ".join(printed[1:])])
    found = heads([PageText(1, as_lines), PageText(2, as_paragraph)])
    lengths = [len(head.split()) for head in found.values()]
    assert max(lengths) <= 1.3 * min(lengths)
    assert all(len(line) <= HEAD_LINE_CHARS for line in found[2].splitlines())


def test_the_head_of_a_page_that_begins_with_a_table_has_each_name_once_and_no_rule() -> None:
    table = (
        "| EUR | 2023 / Sales | 2023 / Costs |\n| --- | ---: | --- |\n| Foil | 2,777 | 1,104 |\n| Rigid | 897 | 412 |"
    )
    expected = "Growth\nEUR | 2023 | Sales | Costs\nFoil | 2,777 | 1,104\nRigid | 897 | 412"
    assert heads([PageText(9, f"Growth\n\n{table}")]) == {9: expected}


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
