"""Each option of ``querymill search conversations`` reaches its field; a wrong value is refused by name."""

from datetime import UTC, datetime
from typing import Any

import pytest

from querymill.kinds.conversations import KIND
from tests.fixtures.options import fields_of, given_by, request_from

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--current-session", "s1"), {"current_session": "s1"}),
    (("--recent-sessions", "a", "--recent-sessions", "b"), {"recent_sessions": ("a", "b")}),
    (("--top-n", "3"), {"top_n": 3}),
    (("--scoring", "product"), {"scoring": "product"}),
    (("--rank-swing", "0.3"), {"rank_swing": 0.3}),
    (("--decay-swing", "0"), {"decay_swing": 0.0}),
    (("--context-cap", "1.5"), {"context_cap": 1.5}),
    (("--no-diversify",), {"diversify": False}),
    (("--no-time-filter",), {"time_filter": False}),
    (("--expansion",), {"expansion": True}),
    (("--no-spelling",), {"spelling": False}),
    (("--no-simplification",), {"simplification": False}),
    (("--now", "2026-06-30T09:00:00"), {"now": datetime(2026, 6, 30, 9, tzinfo=UTC)}),
    (("--time-zone", "Asia/Shanghai"), {"time_zone": "Asia/Shanghai"}),
    (("--why-not", "s9"), {"why_not": "s9"}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--rank-swing", "3"), "rank_swing: Input should be less than or equal to 2"),
    (("--scoring", "luck"), "scoring: Input should be"),
    (("--time-zone", "Mars"), "time_zone: "),
    (("--recent-sessions", "a", "--recent-sessions", "a"), "recent_sessions: "),
    (("--context-cap", "0.5"), "context_cap: Input should be greater than or equal to 1"),
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
