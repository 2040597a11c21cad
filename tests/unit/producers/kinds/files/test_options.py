"""Each option of ``querymill search files`` reaches its field; a wrong value is refused by name."""

from typing import Any

import pytest

from querymill.kinds.files import KIND
from tests.fixtures.options import fields_of, given_by, request_from

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--mode", "oneshot"), {"mode": "oneshot"}),
    (("--channels", "words", "--channels", "vectors"), {"channels": ("words", "vectors")}),
    (("--pattern", "re.*er", "--pattern", "x"), {"patterns": ("re.*er", "x")}),
    (("--glob", "*.py"), {"globs": ("*.py",)}),
    (("--rounds", "1"), {"rounds": 1}),
    (("--candidates", "30"), {"candidates": 30}),
    (("--top-n", "5"), {"top_n": 5}),
    (("--evaluator", "judge"), {"evaluator": "judge"}),
    (("--token-budget", "1000"), {"token_budget": 1000}),
    (("--context-budget", "0"), {"context_budget": 0}),
    (("--return-low",), {"return_low": True}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--rounds", "4"), "rounds: Input should be less than or equal to 3"),
    (("--pattern", "(?=x)"), "patterns.0: "),
    (("--glob", " "), "globs.0: "),
    (("--evaluator", "dice"), "evaluator: Input should be"),
    (("--candidates", "19"), "candidates: Input should be greater than or equal to 20"),
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
