"""What the words of a request add, and how little synonyms weigh."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.lexicon import thesauri
from querymill_workers.text import bm25
from querymill_workers.text.lexicon import own_rows
from querymill_workers.text.thesaurus import MAX_PER_TERM, WEIGHT, Thesaurus, weighted
from querymill_workers.text.words import words

THESAURUS = thesauri()["conversations"]
expand, terms_in, topic_of = THESAURUS.expand, THESAURUS.terms_in, THESAURUS.topic_of


def thesaurus_of(*rows: str) -> Thesaurus:
    return Thesaurus(own_rows("\n".join(["terms\tenglish\tdomains", *rows]), "own.tsv"))


def test_a_query_is_expanded_both_ways() -> None:
    found = {one.term: one.synonyms for one in expand("db 超时")}
    assert found == {"db": ("database", "数据库"), "超时": ("timeout",)}


def test_what_the_query_says_itself_is_not_added() -> None:
    assert expand("database db 数据库") == []
    assert expand("the dbs of dbase") == [*expand("db")]  # dbs is its plural, dbase another word


def test_a_longer_term_is_not_read_as_the_shorter_one_within_it() -> None:
    assert terms_in("缓存失效") == ["缓存失效"]
    assert terms_in("connection pool and unit tests") == ["connection pool", "unit test"]


def test_a_topic_has_one_name_in_both_languages() -> None:
    assert topic_of("缓存怎么选", "") == topic_of("About caching", "") == "cache"
    assert topic_of("Tuesday", "the 数据库 is slow") == "database"
    assert topic_of("Tuesday", "nothing of the sort") is None
    assert topic_of("", "x" * 600 + " database") is None


def test_the_longest_chinese_word_gives_its_english() -> None:
    found = thesauri()["files"].translated("任务的时间限制")
    assert [(one.term, one.synonyms) for one in found] == [("任务", ("task", "job")), ("时间限制", ("time", "limit"))]


def test_the_first_row_of_a_term_comes_first() -> None:
    own = thesaurus_of("工单\tticket\t*", "工单\tcase ticket\t*", "pod | container\t\t*", "pod | unit\t\t*")
    assert own.english == {"工单": ("ticket", "case")}
    assert own.synonyms["pod"] == ("container", "unit")
    assert own.topic_of("the pods of Tuesday", "") == own.topic_of("one unit", "") == "pod"


def test_a_term_is_read_as_it_is_written_and_in_any_case() -> None:
    own = thesaurus_of("C++ | cpp\t\tmodules", "CI流水线\tpipeline\t*")
    assert own.terms_in("c++ and cpp, xcpp") == ["c++", "cpp"]
    assert [one.synonyms for one in own.translated("ci流水线在哪里")] == [("pipeline",)]


def test_without_rows_nothing_is_added() -> None:
    assert (Thesaurus([]).expand("db 超时"), Thesaurus([]).translated("db 超时")) == ([], [])


@given(st.text(max_size=60))
def test_no_term_brings_more_than_it_may(text: str) -> None:
    said = terms_in(text)
    for one in expand(text):
        assert one.term in said
        assert 0 < len(one.synonyms) <= MAX_PER_TERM
        assert not set(one.synonyms).intersection(said)


def scored(text: str, unit: str) -> float:
    units = [Counter(words(one)) for one in (unit, "the database timeout", "a soup recipe", "数据库 迁移")]
    statistics = bm25.IndexStatistics(len(units), sum(one.total() for one in units))
    terms = [
        bm25.QueryTerm(term, times, sum(term in one for one in units)) for term, times in Counter(words(text)).items()
    ]
    return bm25.score(units[0], units[0].total(), terms=terms, statistics=statistics).score


@pytest.mark.parametrize("unit", ["db timeout", "数据库 超时", "db 数据库", "soup", "timeout"])
def test_a_weighted_text_scores_the_question_exactly_and_its_synonyms_at_a_third(unit: str) -> None:
    alone, added = scored("db timeout", unit), scored("数据库\n超时", unit)
    assert scored(weighted("db timeout", ["数据库", "超时"]), unit) == pytest.approx(3 * (alone + WEIGHT * added))
    assert weighted("db timeout", []) == "db timeout"
