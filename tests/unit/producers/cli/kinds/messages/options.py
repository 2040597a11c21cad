"""What the options of ``querymill search messages`` set, and the values that they refuse."""

from typing import Any

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--hyde",), {"hyde": True}),
    (("--multi-query", "subquestion", "--multi-query", "variant"), {"multi_query": ("subquestion", "variant")}),
    (("--no-standalone",), {"standalone": False}),
    (("--expand-within", "2"), {"expand_within": 2.0}),
    (("--rerank", "auto"), {"rerank": "auto"}),
    (("--rerank", "true"), {"rerank": True}),
    (("--session-id", "s1"), {"session_id": "s1"}),
    (("--limit", "7"), {"limit": 7}),
    (("--similarity-threshold", "0.25"), {"similarity_threshold": 0.25}),
    (("--similarity-threshold", "null"), {"similarity_threshold": None}),
    (("--exclude-message-id", "m"), {"exclude_message_id": "m"}),
    (("--vector-type", "context"), {"vector_type": "context"}),
    (("--include-context",), {"include_context": True}),
    (("--preset", "faq"), {"preset": "faq", "similarity_threshold": 0.8, "limit": 5}),
    (
        ("--preset", "faq", "--similarity-threshold", "null", "--limit", "9"),
        {"preset": "faq", "similarity_threshold": None, "limit": 9},
    ),
    (("--hybrid",), {"ranking": "vectors", "hybrid": True, "similarity_threshold": 0.7}),
    (("--vectors-weight", "2"), {"vectors_weight": 2.0}),
    (("--words-weight", "0.5"), {"words_weight": 0.5}),
    (("--rrf-k", "20"), {"rrf_k": 20}),
    (("--ranking", "vectors"), {"ranking": "vectors", "similarity_threshold": 0.7}),
    (("--exclude-message-id", "m", "--answers-first"), {"exclude_message_id": "m", "answers_first": True}),
    (("--filter", "note=kept"), {"filter": {"note": "kept"}}),
    (("--metadata",), {"metadata": True}),
    (
        ("--exclude-message-id", "m", "--exclude-session-id", "s"),
        {"exclude_message_id": "m", "exclude_session_id": "s"},
    ),
    (("--why-not", "a1"), {"why_not": "a1"}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--rerank", "often"), "rerank: must be true, false or 'auto'"),
    (("--multi-query", "synonym"), "multi_query.0: Input should be"),
    (("--similarity-threshold", "much"), "similarity_threshold: Input should be a valid number"),
    (("--similarity-threshold", "1.1"), "similarity_threshold: Input should be less than or equal to 1"),
    (("--limit", "201"), "limit: Input should be less than or equal to 200"),
    (("--preset", "poem"), "preset: Input should be"),
    (("--words-weight", "0"), "words_weight: Input should be greater than 0"),
]
