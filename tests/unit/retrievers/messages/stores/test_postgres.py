"""The statements that search messages, as they are composed: no server is asked."""

import pytest

from querymill_workers.retrievers.messages.rules.sessions import MessageFilter
from querymill_workers.retrievers.messages.stores.postgres import _SQL, _statement, escaped, predicates

COMPOSED = [name for name in _SQL if name != "as_reader_by_index"]
SESSION = "p.session_id = %(session_id)s"
EXCLUDED = "p.message_id <> %(exclude_message_id)s"
LACKING = "model = %(lacking)s AND embedding IS NULL"


def where(session_id: str | None = None, excluded: str | None = None, lacking: str | None = None) -> MessageFilter:
    return MessageFilter("c", ("message",), session_id, excluded, lacking=lacking)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [(where(), set()), (where("s"), {SESSION}), (where(excluded="a"), {EXCLUDED}), (where(lacking="m"), {LACKING}),
     (where("s", "a", "m"), {SESSION, EXCLUDED, LACKING}), (where("", ""), {SESSION, EXCLUDED})],
)  # fmt: skip
@pytest.mark.parametrize("name", COMPOSED)
def test_a_statement_has_a_predicate_for_each_filter_that_is_set_and_no_other(
    name: str, asked: MessageFilter, expected: set[str]
) -> None:
    text = _statement(name, asked, dimensions=384).as_string()
    assert {predicate for predicate in (SESSION, EXCLUDED, LACKING) if predicate in text} == expected
    assert "{" not in text
    assert text.count(predicates(asked).as_string()) >= _SQL[name].count("{filters}")


def test_no_value_of_a_filter_becomes_part_of_a_statement() -> None:
    hostile = where("s' OR true --", "a') OR ('1' = '1", "m; DROP TABLE chat_sessions")
    plain = where("s", "a", "m")
    for name in COMPOSED:
        assert _statement(name, hostile) == _statement(name, plain)


def test_the_conditions_of_a_filter_are_predicates_of_every_statement() -> None:
    filtered = MessageFilter("c", ("message",), conditions={"user_name": "Ada", "topic": "boats"})
    for name in COMPOSED:
        text = _statement(name, filtered).as_string()
        conditions = '(p.user_name COLLATE "C") = ANY', "p.metadata @>"
        assert {text.count(condition) for condition in conditions} == {_SQL[name].count("{filters}")}, name


def test_a_message_is_excluded_within_its_session_where_that_is_known() -> None:
    excluded = MessageFilter("c", ("message",), exclude_message_id="a", exclude_session_id="s")
    assert "(p.session_id <> %(exclude_session_id)s OR (" in predicates(excluded).as_string()


def test_vectors_are_compared_in_the_dimension_of_the_model() -> None:
    text = _statement("nearest_approximate", where(), dimensions=384).as_string()
    assert "v.embedding::halfvec(384) <=> %(vector)s::halfvec(384)" in text


def test_every_statement_names_its_collection() -> None:
    for name in COMPOSED:
        text = _statement(name, where()).as_string()
        named = text.count("collection = %(collection)s") + text.count("collection = 'c'")
        assert text.count("FROM chat_") + text.count("JOIN chat_") <= named, name


@pytest.mark.parametrize(
    ("text", "pattern"), [("100%", r"100\%"), ("a_b", r"a\_b"), ("back\\slash", r"back\\slash"), ("船", "船"), ("", "")]
)
def test_a_text_is_escaped_so_that_a_pattern_finds_it_as_it_stands(text: str, pattern: str) -> None:
    assert escaped(text) == pattern
