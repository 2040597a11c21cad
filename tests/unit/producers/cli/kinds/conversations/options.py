"""What the options of ``querymill search conversations`` set, and the values that they refuse."""

from datetime import UTC, datetime
from typing import Any

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--hyde",), {"hyde": True}),
    (("--multi-query", "subquestion", "--multi-query", "variant"), {"multi_query": ("subquestion", "variant")}),
    (("--no-standalone",), {"standalone": False}),
    (("--expand-within", "2"), {"expand_within": 2.0}),
    (("--rerank", "auto"), {"rerank": "auto"}),
    (("--rerank", "true"), {"rerank": True}),
    (("--current-session", "s1"), {"current_session": "s1"}),
    (("--recent-sessions", "a", "--recent-sessions", "b"), {"recent_sessions": ("a", "b")}),
    (("--top-n", "3"), {"top_n": 3}),
    (("--scoring", "product"), {"scoring": "product"}),
    (("--rank-swing", "0.3"), {"rank_swing": 0.3}),
    (("--decay-swing", "0"), {"decay_swing": 0.0}),
    (("--context-cap", "1.5"), {"context_cap": 1.5}),
    (("--no-diversify",), {"diversify": False}),
    (("--no-vectors",), {"vectors": False}),
    (("--no-time-filter",), {"time_filter": False}),
    (("--expansion",), {"expansion": True}),
    (("--no-spelling",), {"spelling": False}),
    (("--no-simplification",), {"simplification": False}),
    (("--now", "2026-06-30T09:00:00"), {"now": datetime(2026, 6, 30, 9, tzinfo=UTC)}),
    (("--time-zone", "Asia/Shanghai"), {"time_zone": "Asia/Shanghai"}),
    (("--locale", "en-GB"), {"locale": "en-GB"}),
    (("--why-not", "s9"), {"why_not": "s9"}),
    (("--filter", "note=kept"), {"filter": {"note": "kept"}}),
    (("--metadata",), {"metadata": True}),
    (("--vectors-weight", "0.5"), {"vectors_weight": 0.5}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--rerank", "often"), "rerank: must be true, false or 'auto'"),
    (("--multi-query", "synonym"), "multi_query.0: Input should be"),
    (("--rank-swing", "3"), "rank_swing: Input should be less than or equal to 2"),
    (("--scoring", "luck"), "scoring: Input should be"),
    (("--time-zone", "Mars"), "time_zone: "),
    (("--locale", "3/4"), "locale: "),
    (("--recent-sessions", "a", "--recent-sessions", "a"), "recent_sessions: "),
    (("--context-cap", "0.5"), "context_cap: Input should be greater than or equal to 1"),
]
