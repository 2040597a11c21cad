"""Questions late in a chat, written for this project: what must be found first with the turns before, by rule alone.

Each subject has two documents, and the last question of a chat has the words of one that every subject has: only what
was said before tells which is meant.
"""

from functools import cache
from typing import Any, Final

import pytest

from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from tests.fixtures.world import World, new_world, report

#: Subject, and what its documents say of its cost and its hours.
_SUBJECTS: Final = {
    "ferry": "the ferry to Aldra island",
    "sauna": "the harbour sauna",
    "museum": "the museum of clocks in Velmar",
    "library": "the library of Osterby",
    "kayak": "kayaks on the river Tenn",
    "渡轮": "去白沙岛的渡轮",
    "温泉": "北山温泉",
}
_ENGLISH: Final = ("A ticket for {0} costs 12 crowns, and children pay half.", "In winter {0} closes at four.")
_CHINESE: Final = ("{0}的票价是十二元，儿童半价。", "冬天{0}下午四点关门。")
#: The chat, the question, and which document of which subject it is about.
CHATS: Final[tuple[tuple[tuple[str, ...], str, str], ...]] = (
    (("How do I get to Aldra island?", "By ferry."), "And how much is a ticket?", "ferry/0"),
    (("How do I get to Aldra island?", "By ferry."), "When does it close in winter?", "ferry/1"),
    (("Is there a sauna at the harbour?", "Yes, beside the pier."), "What does it cost for children?", "sauna/0"),
    (("Is there a sauna at the harbour?", "Yes."), "Thanks. And does it close early in winter?", "sauna/1"),
    (("Tell me about the museum of clocks.", "It has nine hundred.", "Where is that?", "In Velmar."),
     "And the ticket?", "museum/0"),
    (("Tell me about the museum of clocks.", "It has nine hundred.", "Where is that?", "In Velmar."),
     "Is it open in winter?", "museum/1"),
    (("Does Osterby have a library?", "It does."), "Do they charge for tickets?", "library/0"),
    (("Does Osterby have a library?", "It does."), "and in winter?", "library/1"),
    (("Can I rent a kayak on the Tenn?", "You can."), "How much is that for children?", "kayak/0"),
    (("去白沙岛有渡轮吗？", "有的。"), "它的票价是多少？", "渡轮/0"),
    (("去白沙岛有渡轮吗？", "有的。"), "那冬天呢？", "渡轮/1"),
    (("北山有温泉吗？", "有。"), "儿童票价呢？", "温泉/0"),
)  # fmt: skip
#: Questions that stand alone, whatever was said before.
ALONE: Final = (
    ("How much is a ticket for the ferry to Aldra island?", "ferry/0"),
    ("When does the museum of clocks in Velmar close in winter?", "museum/1"),
    ("北山温泉冬天几点关门？", "温泉/1"),
)


@cache
def world() -> World:
    made = new_world()
    for subject, named in _SUBJECTS.items():
        sentences = _ENGLISH if subject.isascii() else _CHINESE
        for number, sentence in enumerate(sentences):
            made.ingest(report(f"{list(_SUBJECTS).index(subject)}-{number}", sentence.format(named), company=subject))
    return made


def first(question: str, *turns: str) -> str:
    """Return the document that is found first, by its subject."""
    history: list[Any] = [{"role": ("user", "assistant")[at % 2], "text": text} for at, text in enumerate(turns)]
    asked = {"query": question, "collection": "filings", "history": history}
    result = world().result(world().run(ReportSearch.model_validate(asked)))
    assert isinstance(result, ReportResult)
    if not result.results:
        return ""
    subject, number = result.results[0].document.split("-")
    return f"{list(_SUBJECTS)[int(subject)]}/{number}"


def test_what_a_chat_is_about_is_found_first() -> None:
    right = [first(question, *turns) == meant for turns, question, meant in CHATS]
    assert all(right)
    assert sum(first(question) == meant for _, question, meant in CHATS) <= len(CHATS) / 2


@pytest.mark.parametrize(("question", "meant"), ALONE)
def test_a_question_that_stands_alone_is_found_whatever_was_said_before(question: str, meant: str) -> None:
    for turns, _, _ in CHATS:
        assert first(question, *turns) == meant
