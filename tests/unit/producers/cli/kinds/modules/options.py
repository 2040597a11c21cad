"""What the options of ``querymill search modules`` set, and the values that they refuse."""

from typing import Any

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--hyde",), {"hyde": True}),
    (("--multi-query", "subquestion", "--multi-query", "variant"), {"multi_query": ("subquestion", "variant")}),
    (("--no-standalone",), {"standalone": False}),
    (("--expand-within", "2"), {"expand_within": 2.0}),
    (("--rerank", "auto"), {"rerank": "auto"}),
    (("--rerank", "true"), {"rerank": True}),
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
    (("--filter", "module=vtkActor"), {"filter": {"module": "vtkActor"}}),
    (("--why-not", "a1"), {"why_not": "a1"}),
    (("--vectors-weight", "0.5"), {"vectors_weight": 0.5}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--rerank", "often"), "rerank: must be true, false or 'auto'"),
    (("--multi-query", "synonym"), "multi_query.0: Input should be"),
    (("--sub-query", "8: "), "sub_queries.0.description: "),
    (("--sub-query", "-1: a cone"), "sub_queries.0.weight: Input should be greater than"),
    (("--sub-query", "nan: a cone"), "sub_queries.0.weight: "),
    (("--match", ".*"), "match: Input should be"),
    (("--top-k", "101"), "top_k: Input should be less than or equal to 100"),
    (("--channels", "text", "--channels", "text"), "channels: "),
]
