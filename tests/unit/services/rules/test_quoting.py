"""What a quotation says: the statements that say most of a question, in the words of the hits."""

import time

import pytest

from querymill_workers.services.rules.quoting import (
    MAX_CHARS,
    MAX_STATEMENTS,
    Quotable,
    Statement,
    asked_words,
    names_in,
    quote,
    said_in,
)

TANKERS = Quotable(
    "## Segment review 2022: Product Tankers\n\nVessels were bought in May. TCE rose by 74% to USD 24,900 per day, "
    "well above the cash break-even of USD 15,900.\n\n| Product Tankers | 2022 | 2021 |\n|---|---|---|\n"
    "| Revenue, USD m | 268.7 | 171.9 |\n| TCE, USD per day | 24,900 | 14,310 |\n",
    "Halvorsund 2022, page 3",
)
BULK = Quotable("## Segment review 2022: Dry Bulk\n\nTwenty-two vessels earned USD 22,480 per day.", "Halvorsund 2022")


def quoted(question: str, *hits: Quotable) -> list[str]:
    return said_in(quote(question, hits), max_tokens=500)


def test_the_worked_example() -> None:
    assert quoted("What was the TCE of HVSN's product tankers in 2022?", BULK, TANKERS) == [
        "Product Tankers – TCE, USD per day, 2022: 24,900 [2]",
        "TCE rose by 74% to USD 24,900 per day, well above the cash break-even of USD 15,900. [2]",
    ]


def test_a_question_without_a_year_gets_every_column() -> None:
    assert quoted("How did the revenue of product tankers develop?", TANKERS)[0] == (
        "Product Tankers – Revenue, USD m: 268.7 (2022); 171.9 (2021) [1]"
    )


def test_two_years_get_their_columns() -> None:
    text = " | 2019 | 2018 | 2017\n | (in millions) |  | \nNet sales | 14 | 15 | 16"
    assert quoted("How did net sales change between 2017 and 2019?", Quotable(text)) == [
        "Net sales (in millions): 14 (2019); 16 (2017) [1]"
    ]


def test_what_one_statement_leaves_open_another_says() -> None:
    hit = Quotable("We recalled 2,140 home storage units in August. Rain fell. The recall cost $5.7 million.")
    assert quoted("How many home storage units were recalled and what did the recall cost?", hit) == [
        "We recalled 2,140 home storage units in August. [1]",
        "The recall cost $5.7 million. [1]",
    ]


def test_chinese_is_quoted_too() -> None:
    hit = Quotable(
        "公司成立于2010年。一批312台机器人因缺陷被召回更换，费用980万元。\n\n"
        "| 指标 | 2022年 | 2021年 |\n|---|---|---|\n"
        "| 员工人数（人） | 812 | 790 |\n"
    )
    assert quoted("召回了多少台机器人，费用是多少？", hit) == ["一批312台机器人因缺陷被召回更换，费用980万元。 [1]"]
    assert quoted("2022年员工人数是多少？", hit)[0] == "指标 – 员工人数（人）, 2022年: 812 [1]"


@pytest.mark.parametrize(
    "question", ["What is the capital of Mongolia?", "How do I reset my password?", "谁是拿破仑？", "?", "what is it"]
)
def test_nothing_is_quoted_where_nothing_is_near(question: str) -> None:
    assert quoted(question, TANKERS, BULK) == []


def test_a_line_that_leads_to_what_follows_is_no_statement() -> None:
    assert (
        quoted("What are the components of deferred tax?", Quotable("The components of deferred tax are as follows:"))
        == []
    )


def test_brackets_of_the_texts_are_no_citations_links_or_pictures() -> None:
    hit = Quotable("Revenue rose [2] in 2022 ![x](https://evil.example/x.png), see 【3】.")
    assert quoted("How did revenue rise in 2022?", hit) == [
        "Revenue rose (2) in 2022 !(x)(https://evil.example/x.png), see (3). [1]"
    ]


def test_a_quotation_keeps_to_its_room_but_says_one_thing() -> None:
    long = [Statement("word " * 400, hit, 1, frozenset()) for hit in (1, 2)]
    (line,) = said_in(long, max_tokens=16)
    assert line.endswith("… [1]")
    assert len(line) < MAX_CHARS + 10


def test_words_beside_the_sentence_that_asks_count_less() -> None:
    assert asked_words("Answer in USD. What was revenue in FY21?") == {
        "answer": 0.25, "usd": 0.25, "revenu": 1.0, "2021": 1.0,
    }  # fmt: skip
    assert names_in("What is the capital of Mongolia?") == {"mongolia"}


def test_lines_that_a_page_broke_are_one_sentence() -> None:
    hit = Quotable("The retention rate of senior officers fell to 89 percent as tanker\nofficers were in short supply.")
    assert quoted("What was the retention rate of senior officers?", hit) == [
        "The retention rate of senior officers fell to 89 percent as tanker officers were in short supply. [1]"
    ]


def test_hostile_texts_cost_linear_time() -> None:
    texts = [
        "| a " * 20_000,
        "1  " * 20_000,
        "a1, 2019 " * 20_000,
        "\n".join(["| x | 1 |"] * 20_000),
        "2019年 " * 20_000,
    ]
    begun = time.perf_counter()
    for text in texts:
        assert len(quote("What was x in 2019?", [Quotable(text)])) <= MAX_STATEMENTS
    assert time.perf_counter() - begun < 20
