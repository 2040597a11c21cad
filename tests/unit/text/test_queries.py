from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.text.queries import distinct, normalise, wrapped
from tests.fixtures.short_forms import all_at_night


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("  net\tsales \n 2022 ", "net sales 2022"),
        ("ＦＹ２０２２ 净利润", "FY2022 净利润"),
        ("reve\u200bnue\u0000 of\u00a0Aurora\ufeff", "revenue of Aurora"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("e\u200b\u0301", "\u00e9"),
    ],
)
def test_a_text_has_one_normal_form(text: str, normal: str) -> None:
    assert normalise(text) == normal


@given(st.text())
def test_normalising_twice_changes_nothing_and_leaves_valid_text(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    once.encode()
    assert once == once.strip()


def test_the_original_stays_first_and_empty_and_duplicate_queries_are_dropped() -> None:
    proposed = ["", "  ", "NET　Sales of Aurora?", "gross margin", "Gross  Margin", "\u200b", "毛利率"]
    assert distinct("Net sales of Aurora?", proposed) == ["Net sales of Aurora?", "gross margin", "毛利率"]


def test_an_empty_original_still_stays_first() -> None:
    assert distinct("", ["", "margin"]) == ["", "margin"]


@given(st.text(), st.lists(st.text()))
def test_a_list_of_distinct_queries_is_distinct_already(original: str, proposed: list[str]) -> None:
    queries = distinct(original, proposed)
    assert queries[0] == original
    assert distinct(original, queries) == queries


@pytest.mark.parametrize(
    ("reply", "queries"),
    [
        ("1. <revenue of Aurora 2022>\n2. <gross margin>", ["revenue of Aurora 2022", "gross margin"]),
        ("＜极光食品 营业收入＞、<净利润>", ["极光食品 营业收入", "净利润"]),
        ("<think><a draft></think>\n<kept>", ["kept"]),
        ("a draft <not this></think><kept>", ["kept"]),
        ("<first><think>and then <never", ["first"]),
        ("<first> <THINK>x</THINK> <second>", ["first", "second"]),
        ("line<br>break <br/> <p class='x'> </p> <!-- note --> <kept>", ["kept"]),
        ("<query>net sales</query> <query two>", ["query two"]),
        ("< spaced >  <>  < >  <...>", ["spaced"]),
        ("<Same> <same>  <SAME >", ["Same"]),
        ("<an outer <inner query> tail>", ["inner query"]),
        ("<over a\nline end> <kept>", ["kept"]),
        ("revenue > 5 and no query", []),
        ("", []),
    ],
)
def test_queries_are_what_the_model_wrapped(reply: str, queries: list[str]) -> None:
    assert wrapped(reply) == queries


def test_at_most_so_many_queries_are_taken_and_overlong_ones_left_out() -> None:
    reply = "".join(f"<query {number}>" for number in range(9)) + f"<{'x' * 501}>"
    assert wrapped(reply, limit=3) == ["query 0", "query 1", "query 2"]
    assert wrapped(f"<{'x' * 501}> <short>") == ["short"]
    assert wrapped(f"<{'x' * 500}>") == ["x" * 500]


@pytest.mark.parametrize(
    "piece", all_at_night(["<", "<a", "<think>", "</think>", "<a b=", "＜x", "<x>", "></"], short=["<think>", "<a b="])
)
def test_a_reply_of_ten_megabytes_is_read_in_linear_time(piece: str) -> None:
    reply = piece * (10_000_000 // len(piece))
    started = process_time()
    wrapped(reply)
    assert process_time() - started < 20


@given(st.text(alphabet="<>＜＞/ab =\n!t\u200b", max_size=60))
def test_whatever_the_model_writes_its_queries_are_few_distinct_and_normal(reply: str) -> None:
    queries = wrapped(reply, limit=3, max_chars=8)
    assert len(queries) <= 3
    assert distinct("original", queries)[1:] == queries
    assert all(1 <= len(query) <= 8 for query in queries)
