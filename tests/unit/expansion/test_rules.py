"""What a reply gives a search, and how the rankings of branches are joined."""

import pytest

from querymill_workers.expansion.rules.fusion import join_branches, weights_of
from querymill_workers.expansion.rules.replies import MAX_HYDE_CHARS, is_about, texts_in
from querymill_workers.expansion.writing import prompt_of
from querymill_workers.inference.prompts import turns

KINDS = ("messages", "conversations", "modules", "files", "reports")


@pytest.mark.parametrize(
    ("method", "reply", "texts"),
    [
        ("variant", "<price of tin> <what does tin cost?>", ["price of tin"]),
        ("variant", "<think>tin</think> <Price of tin> <price  of tin>", ["Price of tin"]),
        ("subquestion", "no query at all", []),
        ("hyde", "What does tin cost?", []),
        ("hyde", "Tin costs two a pound.", ["Tin costs two a pound."]),
        ("standalone", "<tin cost does what>", []),
        ("standalone", "<What does Cornish tin cost?> <and copper?>", ["What does Cornish tin cost?"]),
    ],
)
def test_what_says_nothing_new_is_left_out(method: str, reply: str, texts: list[str]) -> None:
    assert list(texts_in(method, reply, "What does tin cost?")) == texts


def test_a_long_hypothesis_is_cut() -> None:
    (text,) = texts_in("hyde", "tin " * 2_000, "What does tin cost?")
    assert len(text) <= MAX_HYDE_CHARS


@pytest.mark.parametrize(
    ("text", "question", "is_so"),
    [
        ("evict_expired: drops old entries of the cache", "who throws out old entries?", True),
        ("keepalive of idle connections", "who throws out old entries?", False),
        (
            "evict_expired drops the entries",
            "缓存里的旧条目是在哪里清掉的？",
            True,
        ),  # in another language there are none
        ("", "who throws out old entries?", False),
    ],
)
def test_what_has_no_word_of_the_question_is_off_the_subject(text: str, question: str, is_so: bool) -> None:
    assert is_about(text, question) is is_so


def test_the_texts_of_one_step_share_what_it_counts() -> None:
    found = weights_of(["original", "hyde/1", "variant/1", "variant/2"])
    assert found == {"original": 1.0, "hyde/1": 0.6, "variant/1": 0.3, "variant/2": 0.3}


def test_branches_are_joined_by_rank() -> None:
    joined = join_branches({"original": ["a", "b"], "hyde/1": ["b", "c"]})
    assert [hit.key for hit in joined] == ["b", "a", "c"]
    assert [hit.score for hit in joined] == pytest.approx([1 / 12 + 0.6 / 11, 1 / 11, 0.6 / 12])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", ["hyde", "variant", "subquestion"])
@pytest.mark.parametrize("question", ["Who throws out old entries?", "旧条目是谁清掉的？"])
def test_every_kind_has_a_prompt_of_each_method_in_both_languages(kind: str, method: str, question: str) -> None:
    (*before, last) = turns(prompt_of(method, kind), question, {})
    assert question in last["content"]
    assert not any(question in turn["content"] for turn in before)
