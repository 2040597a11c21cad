import pytest

from querymill_workers.text.words import words
from querymill_workers.vectors.rules.drafts import draft

SHIP = "Ships sail west. The crew of the red ship sleeps below deck. Anchors hold."


def test_a_sentence_of_prose_is_asked_for_and_taken_out() -> None:
    made = draft(SHIP)
    assert made is not None
    assert made.question == "The crew of the red ship sleeps below deck."
    assert made.rest == "Ships sail west.\nAnchors hold."
    assert draft(SHIP) == made


def test_of_code_the_comment_is_asked_for() -> None:
    comment = "# Give the socket back to the pool of the client."
    code = f"def close(self):\n    {comment}\n    self.pool.release(self.socket, self.reason)"
    made = draft(code)
    assert made is not None
    assert "socket back to the pool" in made.question
    assert "pool.release" in made.rest


@pytest.mark.parametrize(
    "text", ["one two three four five six seven eight nine", "船员们在甲板下面睡觉等待风暴过去然后起航"]
)
def test_a_text_of_one_sentence_is_cut_in_two(text: str) -> None:
    made = draft(text)
    assert made is not None
    assert {made.question, made.rest} == {
        part.strip() for part in (text[: text.index(made.rest)] or text[len(made.rest) :], made.rest)
    }


@pytest.mark.parametrize("text", ["", "   ", "ok", "thanks, that works", "!!! ??? ..."])
def test_of_a_text_that_is_too_short_nothing_is_asked(text: str) -> None:
    assert draft(text) is None


def test_half_of_the_questions_are_short() -> None:
    sentence = "the " + " ".join(f"word{number} of" for number in range(20))
    made = [draft(f"{sentence} ship{number}. Anchors hold the boat.") for number in range(200)]
    lengths = [len(each.question.split()) for each in made if each is not None]
    assert set(lengths) == {10, 25}
    assert 60 < lengths.count(10) < 140
    assert all(words(each.question) for each in made if each is not None)
