"""Each option of ``querymill search modules`` reaches its field; a wrong value is refused by name."""

from typing import Any

import pytest

from querymill.kinds.modules import KIND
from tests.fixtures.options import fields_of, given_by, request_from

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (
        ("--sub-query", "8: a cone", "--sub-query", "a light"),
        {"sub_queries": ({"description": "a cone", "weight": 8.0}, {"description": "a light"})},
    ),
    (("--top-k", "4"), {"top_k": 4}),
    (("--candidates", "20"), {"candidates": 20}),
    (("--match", "suffix"), {"match": "suffix"}),
    (("--mode", "coverage"), {"mode": "coverage"}),
    (("--channels", "text"), {"channels": ("text",)}),
    (("--no-lexicon",), {"lexicon": False}),
    (("--split",), {"split": True}),
    (("--prompt-tokens", "0"), {"prompt_tokens": 0}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--sub-query", "8: "), "sub_queries.0.description: "),
    (("--sub-query", "-1: a cone"), "sub_queries.0.weight: Input should be greater than"),
    (("--sub-query", "nan: a cone"), "sub_queries.0.weight: "),
    (("--match", ".*"), "match: Input should be"),
    (("--top-k", "101"), "top_k: Input should be less than or equal to 100"),
    (("--channels", "text", "--channels", "text"), "channels: "),
]


@pytest.mark.parametrize(("arguments", "fields"), OPTIONS)
def test_an_option_reaches_its_field(arguments: tuple[str, ...], fields: dict[str, Any]) -> None:
    assert given_by(KIND, *arguments) == fields


def test_every_option_is_tried() -> None:
    tried = {name for _, fields in OPTIONS for name in fields}
    assert tried | {"query", "collection"} == fields_of(KIND)


@pytest.mark.parametrize(("arguments", "said"), WRONG)
def test_a_wrong_value_exits_with_two_and_names_field_and_rule(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        request_from(KIND, "q", "--collection", "c", *arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
