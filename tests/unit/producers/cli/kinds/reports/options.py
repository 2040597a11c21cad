"""What the options of ``querymill search reports`` set, and the values that they refuse."""

from datetime import date
from typing import Any

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--standalone",), {"standalone": True}),
    (("--expand-within", "2"), {"expand_within": 2.0}),
    (("--top-n", "3"), {"top_n": 3}),
    (("--candidates", "40"), {"candidates": 40}),
    (("--hyde",), {"hyde": True}),
    (("--no-hyde",), {"hyde": False}),
    (("--multi-query", "synonym", "--multi-query", "variant"), {"multi_query": ("synonym", "variant")}),
    (("--return-parent-pages",), {"return_parent_pages": True}),
    (("--inner-factor", "0.5"), {"inner_factor": 0.5}),
    (("--company", "Nordhav"), {"company": "Nordhav"}),
    (("--period", "FY2021 Q3"), {"period": "FY2021 Q3"}),
    (("--documents", "a1", "--documents", "b2"), {"documents": ("a1", "b2")}),
    (("--filter", "note=kept"), {"filter": {"note": "kept"}}),
    (("--metadata",), {"metadata": True}),
    (("--today", "2026-02-28"), {"today": date(2026, 2, 28)}),
    (("--ranking", "agreement"), {"ranking": "agreement"}),
    (("--no-glossary",), {"glossary": False}),
    (("--rerank", "true", "--combine", "weighted"), {"rerank": True, "combine": "weighted"}),
    (("--rerank", "auto", "--combine", "relevance"), {"rerank": "auto", "combine": "relevance"}),
    (("--answer", "--judge"), {"answer": True, "judge": True}),
    (("--answer-tokens", "99"), {"answer_tokens": 99}),
    (("--passage-tokens", "500"), {"passage_tokens": 500}),
    (("--why-not", "a1"), {"why_not": "a1"}),
    (("--vectors-weight", "0.5"), {"vectors_weight": 0.5}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--top-n", "0"), "top_n: Input should be greater than or equal to 1"),
    (("--inner-factor", "nan"), "inner_factor: Input should be a finite number"),
    (("--multi-query", "poem"), "multi_query.0: Input should be"),
    (("--documents", "a", "--documents", "a"), "documents: "),
    (("--judge",), "judge: needs answer"),
    (("--deadline", "0"), "deadline: Input should be greater than 0"),
]
