import re
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.services.rules.citations import CheckedAnswer, CitationCheck, checked

MANY = ", ".join(map(str, range(1, 30)))
CASES: dict[str, tuple[str, str | None, tuple[int, ...], tuple[int, ...]]] = {
    "known": ("Revenue rose [1]. Costs fell [3].", "Revenue rose [1]. Costs fell [3].", (1, 3), ()),
    "unknown": ("Revenue rose [9].", "Revenue rose.", (), (9,)),
    "zero": ("Revenue rose [0] a lot.", "Revenue rose a lot.", (), (0,)),
    "listed": ("Both say so [1, 9, 2].", "Both say so [1][2].", (1, 2), (9,)),
    "in a row": ("So it is [9][2] [1].", "So it is [2][1].", (2, 1), (9,)),
    "said twice": ("A [2][2] B [2].", "A [2] B [2].", (2,), ()),
    "a range": ("All agree [1-3].", "All agree [1][2][3].", (1, 2, 3), ()),
    "a range too long": ("Years [1-300].", "Years [1].", (1,), (300,)),
    "a range backwards": ("Odd [3-1].", "Odd [3][1].", (3, 1), ()),
    "lenticular": ("营收增长【1】，成本下降【9】。", "营收增长[1]，成本下降。", (1,), (9,)),
    "full width": ("营收增长［２］。", "营收增长[2]。", (2,), ()),
    "with a word": ("So [passage 2] and [Source 7], 见[段落1]。", "So [2] and, 见[1]。", (2, 1), (7,)),
    "listed in Chinese": ("如此【1、9和3】。", "如此[1][3]。", (1, 3), (9,)),
    "with blanks": ("So [ 1 ].", "So [1].", (1,), ()),
    "a footnote": ("So [^2].", "So [2].", (2,), ()),
    "of another script": ("So [٩] and [२].", "So and [2].", (2,), (9,)),
    "hidden": ("So [\u200b9\u2060], \x1b[31mred\x07 [1]\r\n.", "So, [31mred [1]\n.", (1,), (9,)),
    "a year": ("In [2022] it rose.", "In it rose.", (), (2022,)),
    "many listed": (f"So [{MANY}].", "So [1][2][3].", (1, 2, 3), tuple(range(4, 30))),
    "listed with dots": ("So [1, 2, ..., 9].", "So [1][2].", (1, 2), (9,)),
    "a word each": ("So [passage 1, passage 9], 见[来源1，来源9]。", "So [1], 见[1]。", (1,), (9,)),
    "listed and joined": ("So [1, and 9].", "So [1].", (1,), (9,)),
    "blanks between": ("So [1 9].", "So [1].", (1,), (9,)),
    "a comma too many": ("So [1,9,].", "So [1].", (1,), (9,)),
    "with a word and a colon": ("So [source: 9], 见【来源：1】。", "So, 见[1]。", (1,), (9,)),
    "marked": ("So【9†source】 and 【1†source】.", "So and [1].", (1,), (9,)),
    "code": ("x[-1], x[0:3], x[1, -1], x[...], x[0...5], [2 passages]", None, (), ()),
    "no citation": ("an [array], a[i], f(1), {1}, 1] and [1", "an [array], a[i], f(1), {1}, 1] and [1", (), ()),
    "over a line end": ("a [1\n] b", "a [1\n] b", (), ()),
    "only a wrong one": (" [9] ", "", (), (9,)),
    "at the beginning": ("[9] So it is.", "So it is.", (), (9,)),
    "on a line of its own": ("So it is.\n[9]\n", "So it is.", (), (9,)),
    "within another": ("[[9]7] and [7[9]] and [1[9]]", "[[]7] and [7[]] and [1[]]", (), (9,)),
    "very long": ("So [" + "1" * 50 + "].", "So.", (), (int("1" * 50),)),
}


@pytest.mark.parametrize(("answer", "text", "cited", "removed"), CASES.values(), ids=CASES.keys())
def test_only_citations_of_passages_there_are_stay(
    answer: str, text: str | None, cited: tuple[int, ...], removed: tuple[int, ...]
) -> None:
    assert checked(answer, passages=3) == CheckedAnswer(answer if text is None else text, cited, removed)


answers = st.text(alphabet="a1239 \t\n[]【】［］０٩\u200b,、-^p中。", max_size=60) | st.lists(
    st.sampled_from(
        [
            "[1]",
            "[9]",
            " ",
            "\n",
            "[",
            "]",
            "[2, 7]",
            ", ",
            " and ",
            "passage ",
            "†source",
            "来源",
            "...",
            "1",
            "9" * 70,
            "word",
            "[word]",
            "【3】",
            "x" * 70,
            ". ",
        ]
    ),
    max_size=12,
).map("".join)


brackets = st.text(alphabet="[]【1279 ", max_size=14)


@given(answers | brackets, st.data())
def test_the_text_is_the_same_however_it_is_cut_into_parts(answer: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(answer)), max_size=8)))
    check = CitationCheck(3)
    parts = [check.feed(answer[a:b]) for a, b in zip([0, *cuts], [*cuts, len(answer)], strict=True)]
    assert CheckedAnswer("".join(parts) + check.end(), check.cited, check.removed) == checked(answer, passages=3)


@given(answers | brackets, st.integers(0, 12))
def test_every_number_in_brackets_that_is_left_names_a_passage(answer: str, passages: int) -> None:
    kept = checked(answer, passages=passages)
    left = [int(number) for group in re.findall(r"\[(\d[\d ,]*)\]", kept.text) for number in group.split(",")]
    assert set(left) == set(kept.cited)
    assert all(1 <= number <= passages for number in left)
    assert not any(1 <= number <= passages for number in kept.removed)


@given(answers | brackets)
def test_checking_twice_changes_nothing(answer: str) -> None:
    once = checked(answer, passages=3)
    assert checked(once.text, passages=3) == CheckedAnswer(once.text, once.cited, ())


@given(answers)
def test_letters_are_never_touched(answer: str) -> None:
    assert checked(answer, passages=3).text.count("a") == answer.count("a")


def test_what_is_ready_is_not_held_back() -> None:
    check = CitationCheck(3)
    assert check.feed("Revenue rose") == "Revenue rose"
    assert check.feed(" [") == ""
    assert check.feed("9") == ""
    assert check.feed("]. Then") == ". Then"
    assert check.feed(" [see the") == ""
    assert check.feed(" table") == ""
    assert check.feed("\n") == " [see the table"
    many = " [" + ", ".join(["9"] * 40)
    assert check.feed(many) == ""
    assert check.feed(", pass") == ""
    assert check.feed("word") == "\n" + many + ", password"


@pytest.mark.parametrize(
    "hostile",
    [
        "[" * 20_000,
        " " * 20_000,
        "[1" * 20_000,
        "[1]" * 20_000,
        " [9]" * 20_000,
        "[9]x" * 20_000,
        "[" + "1 " * 20_000,
        "[1, and " * 9_000,
        ("[" + "1, " * 330) * 40,
        "[1" + " , " * 20_000,
        "[" + "source" * 9_000,
    ],
)
def test_a_hostile_answer_is_checked_in_time(hostile: str) -> None:
    started = time.process_time()
    checked(hostile, passages=3)
    assert time.process_time() - started < 2
