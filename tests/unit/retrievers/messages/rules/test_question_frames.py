import time

import pytest

from querymill_workers.retrievers.messages.rules.question_frames import unframed


@pytest.mark.parametrize(
    ("question", "subject"),
    [
        ("What did anyone say about the sound card?", "the sound card?"),
        ("what have people said about the venue", "the venue"),
        ("did anyone mention crypttab", "crypttab"),
        ("Has anybody ever talked about Tokyo?", "Tokyo?"),
        ("when did we discuss the deposit", "the deposit"),
        ("who suggested cleaning the nozzles", "cleaning the nozzles"),
        ("Who has talked about the ferry?", "the ferry?"),
        ("who said that the ferry is late", "the ferry is late"),
        ("find the message where someone mentioned the berth", "the berth"),
        ("messages about the printer", "the printer"),
        ("有没有人提到过船票", "船票"),
        ("谁说过打印机坏了", "打印机坏了"),
        ("大家什么时候讨论过押金？", "押金？"),
        ("关于船票大家说了什么", "船票"),
    ],
)
def test_what_only_asks_for_a_message_is_no_part_of_the_subject(question: str, subject: str) -> None:
    assert unframed(question) == subject


@pytest.mark.parametrize(
    "question",
    [
        "what did Ada say about the boat",  # her name is a word of the question
        "who pays the deposit",
        "did anyone pay the deposit",
        "when did Ada go to the office",
        "what does the error message say",
        "who wrote the letter to Mira",
        "who asked",
        "messages pile up in the queue",
        "谁付押金",
        "说了什么",
        "did anyone mention",
    ],
)
def test_a_question_whose_words_are_its_subject_stays(question: str) -> None:
    assert unframed(question) == question


@pytest.mark.parametrize("text", ["what did anyone say about " * 5_000, " " * 20_000 + "x", "did " * 70, "关于" * 150])
def test_long_texts_take_no_time(text: str) -> None:
    started = time.process_time()
    unframed(text)
    assert time.process_time() - started < 0.05
