"""What a question late in a chat refers back to."""

import pytest

from querymill_workers.text.in_context import SaidTurn, in_context, leaning_of, said_before


def chat(*texts: str) -> tuple[SaidTurn, ...]:
    """Turns of the user and of the assistant, in turn."""
    return tuple(SaidTurn(("user", "assistant")[place % 2], text) for place, text in enumerate(texts))


@pytest.mark.parametrize(
    ("question", "refers", "weight"),
    [
        ("How much does it cost?", "reference", 1),
        ("How old are they?", "reference", 1),
        ("Which ports did Nordhav build before it was sold?", "reference", 0.5),
        ("tell me about that", "reference", 1),
        ("它的收入是多少？", "reference", 1),
        ("该公司去年的利润如何", "reference", 1),
        ("And in 2021?", "continuation", 0.5),
        ("what about the tugboats of the northern fleet in winter?", "continuation", 0.5),
        ("那2021年呢？", "continuation", 0.5),
        ("Opening hours", "few_words", 0.3),
        ("利润", "few_words", 0.3),
        ("Which regional differences matter?", "few_words", 0.15),
        # These stand alone.
        ("Which ships did Nordhav sell in 2021?", "no", 0),
        ("Is it possible to sail around the cape of Good Hope in winter?", "no", 0),
        ("How long does it take to unload a container ship in Lisbon?", "no", 0),
        ("Are there ships that sail under the flag of Panama in winter?", "no", 0),
        ("北港航运2021年的收入是多少？", "no", 0),
        ("其他港口的泊位费是多少钱一天", "no", 0),
    ],
)
def test_how_far_a_question_leans_on_the_turn_before(question: str, refers: str, weight: float) -> None:
    leaning = leaning_of(question)
    assert (leaning.refers, leaning.weight) == (refers, weight)


def test_the_worked_example() -> None:
    history = chat("Which ships does Nordhav own?", "Nine.", "And in 2020?", "Seven.")
    asked = in_context("How old are they?", history)
    assert asked.beside == {"And in 2020?": 0.5, "Which ships does Nordhav own?": 0.25, "Seven.": 0.05, "Nordhav": 0.1}
    assert asked.before == ("And in 2020?", "Which ships does Nordhav own?")
    assert asked.meaning == "Which ships does Nordhav own?\nAnd in 2020?\nHow old are they?"


def test_a_question_that_stands_alone_is_not_touched() -> None:
    asked = in_context("Which soups does Borough sell in winter?", chat("Which ships does Nordhav own?", "Nine."))
    assert (asked.added, asked.meaning) == ((), "Which soups does Borough sell in winter?")


def test_a_question_of_a_few_words_is_understood_without_the_turn_that_it_may_lean_on() -> None:
    asked = in_context("Which regional differences matter?", chat("Revenue of Nordhav?", "It rose."))
    assert asked.beside == pytest.approx({"Revenue of Nordhav?": 0.075, "It rose.": 0.0075})
    assert asked.meaning == "Which regional differences matter?"


def test_what_comes_before_a_turn_that_stands_alone_is_not_searched() -> None:
    history = chat("How is soup made?", "Slowly.", "Which ships did Nordhav sell in 2021?", "Two.")
    assert in_context("Why did it sell them?", history).before == ("Which ships did Nordhav sell in 2021?",)


def test_a_subject_is_found_three_turns_back() -> None:
    history = chat("What was the revenue of Nordhav in 2019?", "Nine.", "And in 2020?", "Ten.", "And in 2021?", "Two.")
    assert in_context("And in 2022?", history).before[-1] == "What was the revenue of Nordhav in 2019?"


def test_only_the_last_twenty_turns_count_and_blank_ones_are_passed_over() -> None:
    history = chat("Who owns Nordhav?", "Solvik.", *(["And now?", " "] * 10))
    asked = in_context("And then?", history)
    assert asked.left_out == 2
    assert asked.before == ("And now?",)


def test_a_long_turn_counts_with_its_beginning() -> None:
    (turn, *_) = in_context("How old are they?", chat("ships " * 5_000)).added
    assert 1_000 < len(turn.text) < 2_000


def test_a_model_is_shown_the_turns_that_a_question_needs_with_their_answers() -> None:
    history = chat("How is soup made?", "Slowly.", "Which ships did Nordhav sell in 2021?", "Two.", "Why?", "Age.")
    assert [turn.text for turn in said_before("And when were they built?", history)] == [
        "Which ships did Nordhav sell in 2021?", "Two.", "Why?", "Age.",
    ]  # fmt: skip
    assert said_before("Which soups does Borough sell in winter?", history) == []


@pytest.mark.parametrize("text", ["it " * 30_000, "A" + " Bc" * 30_000, "那" * 90_000, "is it " * 20_000])
def test_a_hostile_text_is_read_in_linear_time(text: str) -> None:
    assert in_context(text, chat(text, text)).question == text
