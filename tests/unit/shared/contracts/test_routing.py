"""What a question says of where its answer is: the worked examples, and what is no sign."""

import pytest

from querymill_shared.contracts.routing import asked_first, leads_of

CODE, FIGURES, SAID = "names code", "asks for figures of a company", "asks what was said"
EVERYTHING = ["reports/filings", "messages/chats", "conversations/chats", "modules/code", "files/code"]


@pytest.mark.parametrize(
    ("question", "about", "words"),
    [
        ("Why does max_retries not hold?", CODE, "max_retries"),
        ("worker.py raises after a reconnect", CODE, "worker.py"),
        ("use vtkWarpScalar together with vtkCamera", CODE, "vtkWarpScalar"),
        ("resolve conflicts of ResultConsumer", CODE, "ResultConsumer"),
        ("task names of Consumer.on_close()", CODE, "Consumer.on_close()"),
        ("请用vtkActor渲染", CODE, "vtkActor"),
        ("What was the goodwill in 2019?", FIGURES, "goodwill"),
        ("Did the operating margins of the second business grow in FY2019?", FIGURES, "operating margins"),
        ("how much in Q2 2023", FIGURES, "Q2 2023"),
        ("2019年的净利润是多少", FIGURES, "净利润"),
        ("What did we say about the dues?", SAID, "did we say"),
        ("Has John ever mentioned the harbour?", SAID, "Has John ever mentioned"),
        ("我们之前讨论过什么", SAID, "我们之前讨论过"),
    ],
)
def test_a_question_says_where_its_answer_is(question: str, about: str, words: str) -> None:
    assert [(lead.about, lead.words) for lead in leads_of(question)] == [(about, words)]


@pytest.mark.parametrize(
    "question",
    [
        "How are unacked messages restored?", "What did Caroline research?", "Which phone does LeBron sell?",
        "PepsiCo and macOS on x86_64", "who is on the liveCD", "What do you think of the fleet?", "", "???",
        "what happened in 2018 and 2019",
    ],
)  # fmt: skip
def test_a_product_a_person_and_a_year_are_no_sign(question: str) -> None:
    assert leads_of(question) == ()


@pytest.mark.parametrize(
    ("question", "first"),
    [
        ("Why does max_retries not hold?", ["modules/code", "files/code"]),
        ("Which revenue does report.py print?", ["reports/filings", "modules/code", "files/code"]),
        ("Which revenue did we discuss?", ["reports/filings", "messages/chats", "conversations/chats"]),
        ("What did we say of the revenue in report.py?", []),
        ("How are messages restored?", []),
    ],
)
def test_the_branches_that_hold_it_are_asked_first(question: str, first: list[str]) -> None:
    """Where a question points to all of them, none comes first."""
    assert list(asked_first(question, EVERYTHING)) == first


def test_what_nobody_holds_may_stand_anywhere() -> None:
    assert asked_first("Which revenue does report.py print?", EVERYTHING[:3]) == ()
    assert asked_first("Why does max_retries not hold?", ["files/code"]) == ()
