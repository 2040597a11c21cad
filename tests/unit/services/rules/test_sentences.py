import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.services.rules.sentences import sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Margins rose. [1] Costs fell [2].", ["Margins rose. [1]", "Costs fell [2]."]),
        ("Sales were 3.5 million. They rose!", ["Sales were 3.5 million.", "They rose!"]),
        ("营收为4,820万元[1]。净利润下降？是的！", ["营收为4,820万元[1]。", "净利润下降？", "是的！"]),
        ("He said “it rose.” Then he left.", ["He said “it rose.”", "Then he left."]),
        ("他说：“增长了。”然后离开。", ["他说：“增长了。”", "然后离开。"]),
        ("Acme Inc. sold 9 ships, e.g. No. 5. More follow.", ["Acme Inc. sold 9 ships, e.g. No. 5.", "More follow."]),
        ("1. First of all\n2. Second of all", ["1. First of all", "2. Second of all"]),
        ("Use vtk.js. 用它。Then stop", ["Use vtk.js.", "用它。", "Then stop"]),
        ("Really?! Yes...", ["Really?!", "Yes..."]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", ["| a | b |", "| 1 | 2 |"]),
        ("no end", ["no end"]),
        ("", []),
        (" \n . \n", []),
    ],
)
def test_a_text_is_split_into_its_sentences(text: str, expected: list[str]) -> None:
    assert sentences(text) == expected


texts = st.text(alphabet="ab1 .!?。！？\n\t[]()”Inc’中文", max_size=80)


@given(texts)
def test_no_letter_or_digit_is_lost_or_moved(text: str) -> None:
    joined = "".join(sentences(text))
    assert list(filter(str.isalnum, joined)) == list(filter(str.isalnum, text))


@given(texts)
def test_each_sentence_stands_in_the_text(text: str) -> None:
    assert all(sentence in text and sentence == sentence.strip() for sentence in sentences(text))
