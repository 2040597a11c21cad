"""What the options of ``querymill search files`` set, and the values that they refuse."""

from typing import Any

OPTIONS: list[tuple[tuple[str, ...], dict[str, Any]]] = [
    ((), {}),
    (("--hyde",), {"hyde": True}),
    (("--multi-query", "subquestion", "--multi-query", "variant"), {"multi_query": ("subquestion", "variant")}),
    (("--no-standalone",), {"standalone": False}),
    (("--expand-within", "2"), {"expand_within": 2.0}),
    (("--rerank", "auto"), {"rerank": "auto"}),
    (("--rerank", "true"), {"rerank": True}),
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
    (("--under", "src/", "--under", "lib/"), {"under": ("src/", "lib/")}),
    (("--exclude", "*.min.js"), {"exclude": ("*.min.js",)}),
    (("--kinds", "code", "--kinds", "tests"), {"kinds": ("code", "tests")}),
    (("--filter", "path^=src/"), {"filter": {"path": {"prefix": "src/"}}}),
    (("--why-not", "a1"), {"why_not": "a1"}),
    (("--vectors-weight", "0.5"), {"vectors_weight": 0.5}),
    (("--deadline", "2.5"), {"deadline": 2.5}),
    (("--lane", "bulk"), {"lane": "bulk"}),
]
WRONG: list[tuple[tuple[str, ...], str]] = [
    (("--rerank", "often"), "rerank: must be true, false or 'auto'"),
    (("--multi-query", "synonym"), "multi_query.0: Input should be"),
    (("--rounds", "4"), "rounds: Input should be less than or equal to 3"),
    (("--pattern", "(?=x)"), "patterns.0: "),
    (("--glob", " "), "globs.0: "),
    (("--kinds", "poems"), "kinds.0: Input should be"),
    (("--evaluator", "dice"), "evaluator: Input should be"),
    (("--candidates", "19"), "candidates: Input should be greater than or equal to 20"),
]
