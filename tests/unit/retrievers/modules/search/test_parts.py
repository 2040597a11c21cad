import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.modules.search.parts import MAX_PARTS, MAX_WEIGHT, weighted_parts


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("<8: a cone>\n<3.5：axes>", [("a cone", 8.0), ("axes", 3.5)]),
        ("<99: a cone> <plain>", [("a cone", 10.0), ("plain", 5.0)]),
        ("no parts", []),
        ("<0: nothing much>", [("nothing much", 0.0)]),
    ],
)
def test_the_parts_of_a_reply(reply: str, parts: list[tuple[str, float]]) -> None:
    assert weighted_parts(reply) == parts


def test_at_most_eight_parts_are_read() -> None:
    reply = " ".join(f"<{number}: part {number}>" for number in range(20))
    assert weighted_parts(reply) == [(f"part {number}", float(number)) for number in range(MAX_PARTS)]


@pytest.mark.parametrize("part", ["8", "8:", "-3: negative", "1e9: large", "0x10: hex", "1234: long"])
def test_a_part_without_a_readable_weight_is_taken_whole(part: str) -> None:
    assert weighted_parts(f"<{part}>") == [(part, 5.0)]


@given(st.text(alphabet="<>0123456789.:| a圆", max_size=80))
def test_whatever_a_model_writes_its_parts_are_few_and_their_weights_in_range(reply: str) -> None:
    parts = weighted_parts(reply)
    assert len(parts) <= MAX_PARTS
    assert all(text and 0 <= weight <= MAX_WEIGHT for text, weight in parts)
