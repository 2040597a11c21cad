"""The score of a hit as a tree: one function a kind, from what its explanation says."""

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from querymill.presenting.explain.scores import ScorePart

#: The weights of the parts of a conversation's rank, as its formula has them.
RANK_WEIGHTS: Final[dict[str, float]] = {
    "base": 0.2, "depth": 0.2, "reference": 0.3, "quality": 0.2, "recency": 0.1,
}  # fmt: skip
#: Where an explanation says how the branches of a search with expansions were joined.
EXPANDED: Final = "expanded"
#: Where it says what a judge made of a hit, and what its score was before, unless both are combined.
RERANKED: Final = "rerank"
SCORE_BEFORE: Final = "score_before"
#: The places that scores are rounded to where their explanation does not say.
_MODULE_PLACES, _FILE_PLACES, _MESSAGE_PLACES, _JOINT_PLACES = 6, 4, 6, 6

Hit = Mapping[str, Any]


def score_tree(kind: str, hit: Hit) -> ScorePart:
    """Return the tree of a hit's score. ``hit`` is a hit as its result has it in JSON.

    A hit of a kind without scores, or whose explanation is of another release, has a tree of one given number.
    """
    build = _TREES.get(kind)
    score = float(hit.get("score") or 0.0)
    if build is None:
        return ScorePart("score", score)
    try:
        if SCORE_BEFORE in hit["explanation"].get(RERANKED, {}):
            return _judged(kind, hit)
        return build(hit) if EXPANDED not in hit["explanation"] else _in_branches(kind, hit)
    except (KeyError, TypeError, ValueError, AttributeError):
        return ScorePart("score", score, note="its explanation is of another release")


def _judged(kind: str, hit: Hit) -> ScorePart:
    """A hit of a search whose candidates were judged: its relevance, or its score before if it has none."""
    why = hit["explanation"][RERANKED]
    own = {name: value for name, value in hit["explanation"].items() if name != RERANKED}
    before = score_tree(kind, {**hit, "score": why[SCORE_BEFORE], "explanation": own})
    if "relevance" not in why:
        return replace(before, note=why.get("reason", ""))
    note = f"by the judge; place {why['rank']} before"
    return ScorePart("relevance", why["relevance"], parts=(replace(before, label="score before"),), note=note)


def _in_branches(kind: str, hit: Hit) -> ScorePart:
    """A hit of several branches: a share for its rank in each; the first one explains its own score."""
    why = hit["explanation"][EXPANDED]
    own = {name: value for name, value in hit["explanation"].items() if name != EXPANDED}
    in_branch = score_tree(kind, {**hit, "score": why["score_in_branch"], "explanation": own})
    first = next(iter(why["ranks"]))
    terms = [
        _rank_term(
            branch, why["weights"][branch], why["k"], rank,
            replace(in_branch, label="score in its branch") if branch == first else None,
        )
        for branch, rank in why["ranks"].items()
    ]  # fmt: skip
    return ScorePart("score", why["score"], "sum", tuple(terms), rounded_to=_JOINT_PLACES)


def _report(hit: Hit) -> ScorePart:
    why = hit["explanation"]
    searched = _joined(why) if "words_rank" in why else _fused(why)
    again = why.get("rerank")
    if again is None:
        return searched
    similarity = ScorePart("similarity", again["similarity"], parts=(searched,), note=again.get("reason", ""))
    if "relevance" not in again:
        return ScorePart("score", hit["score"], "sum", (similarity,), note=again.get("reason", ""))
    return _reranked(hit["score"], again, similarity)


def _reranked(score: float, again: Mapping[str, Any], similarity: ScorePart) -> ScorePart:
    relevance = ScorePart("relevance", again["relevance"], note="by the judge")
    if "relevance_weight" in again:
        weighted = [
            ScorePart(part.label, weight * part.value, "product", (ScorePart("weight", weight), part))
            for part, weight in ((relevance, again["relevance_weight"]), (similarity, again["similarity_weight"]))
        ]
        return ScorePart("score", score, "sum", tuple(weighted))
    if again["similarity"] < 0:
        turned = (ScorePart("two", 2.0), ScorePart("less the relevance", -again["relevance"], note="by the judge"))
        relevance = ScorePart("2 − relevance", 2 - again["relevance"], "sum", turned)
    return ScorePart("score", score, "product", (relevance, similarity))


def _among_all(hit: Hit) -> ScorePart:
    """A hit among those of all kinds: what its branch is worth, by its rank there."""
    why = hit["explanation"]
    own = replace(score_tree(hit["kind"], hit["hit"]), label=f"score among {hit['kind']}")
    parts = (ScorePart("factor of the kind", why["factor"]), ScorePart("share of the question", why["share"]))
    weight = ScorePart("weight of the branch", why["weight"], "product", parts, rounded_to=_JOINT_PLACES)
    term = _rank_term("score", why["weight"], why["k"], why["rank"], own)
    return replace(term, value=why["score"], parts=(weight, *term.parts[1:]), rounded_to=_JOINT_PLACES)


def _joined(why: Mapping[str, Any]) -> ScorePart:
    """A hit by words and vectors: a share for each rank."""
    terms = []
    for name in ("words", "vectors"):
        if why[f"{name}_rank"] is not None:
            detail = _words(why["words"]) if name == "words" and why.get("words") else None
            if name == "vectors":
                detail = _fused({**why, "score": why["fusion_score"], "rounded_to": 4})
            term = _rank_term(name, why[f"{name}_weight"], why["k"], why[f"{name}_rank"], detail)
            terms.append(term)
    return ScorePart("score", why["score"], "sum", tuple(terms), rounded_to=why.get("rounded_to"))


def _rank_term(label: str, weight: float, k: float, rank: int, detail: ScorePart | None = None) -> ScorePart:
    """Return what a rank adds: weight / (k + rank)."""
    place = ScorePart("rank", rank, parts=() if detail is None else (detail,))
    below = ScorePart("k + rank", k + rank, "sum", (ScorePart("k", k), place))
    inverse = ScorePart("1 / (k + rank)", 1 / (k + rank), "power", (below, ScorePart("power", -1)))
    return ScorePart(label, weight / (k + rank), "product", (ScorePart("weight", weight), inverse))


def _fused(why: Mapping[str, Any]) -> ScorePart:
    queries = tuple(
        ScorePart("query", 1.0, note=text, is_counted=place == 0) for place, text in enumerate(why.get("queries", ()))
    )
    similarity = ScorePart("similarity", why["max_inner_product"], parts=queries)
    factors = [similarity, ScorePart("inner factor", why["inner_factor"])]
    factors.append(_agreement(why["agreement_factor"], why["agreement"], why["count"]))
    rounded_to = why.get("rounded_to", 4)
    return ScorePart("score", why["score"], "product", tuple(factors), why.get("formula", ""), rounded_to)


def _agreement(factor: float, agreement: float, count: int) -> ScorePart:
    """Return the factor 1 + agreement × (queries − 1), or 1 where agreement is not rewarded."""
    if not math.isclose(factor, 1 + agreement * (count - 1)):
        return ScorePart("agreement", factor, note="agreement is not rewarded below 0")
    added = ScorePart(
        "added", agreement * (count - 1), "product",
        (ScorePart("for each further query", agreement), ScorePart("further queries", count - 1)),
    )  # fmt: skip
    return ScorePart("agreement", factor, "sum", (ScorePart("one query", 1.0), added), f"{count} queries")


def _words(why: Mapping[str, Any]) -> ScorePart:
    share = ScorePart("share of the best BM25", why["share_of_best_bm25"])
    agreement = _agreement(1 + why["agreement"] * (why["count"] - 1), why["agreement"], why["count"])
    return ScorePart("score by words", why["score"], "product", (share, agreement), rounded_to=6)


def _message(hit: Hit) -> ScorePart:
    why, score = hit["explanation"], hit["score"]
    if "ranks" in why:
        terms = [_rank_term(name, why["weights"][name], why["rrf_k"], rank) for name, rank in why["ranks"].items()]
        return ScorePart("score", score, "sum", tuple(terms), rounded_to=_MESSAGE_PLACES)
    if "cosine" in why:
        points = tuple((float(x), float(y)) for x, y in why["calibration"])
        cosine = ScorePart("cosine", why["cosine"])
        return ScorePart("similarity", score, "curve", (cosine,), "calibrated" if points else "", 6, points)
    if "terms" in why and math.isclose(why["score"], score):
        return _bm25(why, label="score")
    if "terms" in why:
        return ScorePart(
            "similarity of a match by words", score, parts=(_bm25(why),), note="its vector is not there yet"
        )
    return ScorePart("score", score, note=why.get("formula", ""))


def _bm25(why: Mapping[str, Any], *, label: str = "bm25") -> ScorePart:
    """Return a BM25 score by terms. That of several passages is their soft maximum, which is given."""
    k1, b, length, average = why["k1"], why["b"], why["length"], why["average"]
    norm = k1 * (1 - b + b * length / average) if average else k1
    terms = tuple(_term(term, norm) for term in why["terms"])
    if "best" not in why:
        return ScorePart(label, why["score"], "sum", terms)
    best = ScorePart("best passage", why["best"], "sum", terms)
    others = [ScorePart("passage", part["score"], note=f"{part['passage']}") for part in why["passages"][1:]]
    return ScorePart(label, why["score"], parts=(best, *others), note=why["together"])


def _term(term: Mapping[str, Any], norm: float) -> ScorePart:
    tf = ScorePart("tf", term["tf"])
    below = ScorePart("tf + length", term["tf"] + norm, "sum", (tf, ScorePart("length", norm)))
    inverse = ScorePart("1 / (tf + length)", 1 / (term["tf"] + norm), "power", (below, ScorePart("power", -1)))
    factors = (ScorePart("times", term["times"]), ScorePart("idf", term["idf"], note=f"in {term['df']}"), tf, inverse)
    return ScorePart(term["term"], term["score"], "product", factors)


def _conversation(hit: Hit) -> ScorePart:
    why = hit["explanation"]
    factors = tuple(_factor(name, value, why) for name, value in why["factors"].items())
    note = "" if hit.get("placed_by") in (None, "score") else _placed(hit)
    joined = why.get("joined")
    if joined is None:
        return ScorePart("score", hit["score"], "product", factors, note)
    details = {"words": ScorePart("score by words", joined.get("words", 0.0), "product", factors)}
    if "cosine" in joined:
        details["vectors"] = ScorePart("cosine", joined["cosine"], note=f"message {joined['message_number']}")
    terms = tuple(
        _rank_term(name, joined["weights"][name], joined["k"], rank, details.get(name))
        for name, rank in joined["ranks"].items()
    )
    return ScorePart("score", hit["score"], "sum", terms, note)


def _placed(hit: Hit) -> str:
    of = f" for {hit['placed_for']}" if hit.get("placed_for") else ""
    return f"placed by {hit['placed_by']}{of}"


def _factor(name: str, value: float, why: Mapping[str, Any]) -> ScorePart:
    match name:
        case "bm25":
            return _relevance(value, why)
        case "rank":
            rank = _rank(why["rank"])
            return rank if "a" not in why else _swung("rank", value, why["a"], rank)
        case "decay":
            days = ScorePart("days / 90", -why["days"] / 90)
            decay = ScorePart("age", math.exp(-why["days"] / 90), "power", (ScorePart("e", math.e), days))
            return decay if "b" not in why else _swung("decay", value, why["b"], decay)
        case _:
            return ScorePart(name, value, note=f"at most {why['cap']:g}" if "cap" in why else "")


def _relevance(value: float, why: Mapping[str, Any]) -> ScorePart:
    """Return BM25 as a share of the best candidate's."""
    if not why["bm25"] or not value:
        return ScorePart("bm25", value)
    own = _bm25(why["bm25"], label="own bm25")
    best = ScorePart("best bm25", own.value / value)
    inverse = ScorePart("1 / best", value / own.value, "power", (best, ScorePart("power", -1)))
    return ScorePart("bm25", value, "product", (own, inverse))


def _swung(label: str, value: float, swing: float, around: ScorePart) -> ScorePart:
    """Return a factor near 1: 1 + swing × (part − ½)."""
    off = ScorePart(f"{label} − ½", around.value - 0.5, "sum", (around, ScorePart("half", -0.5)))
    added = ScorePart("added", swing * off.value, "product", (ScorePart("swing", swing), off))
    return ScorePart(label, value, "sum", (ScorePart("one", 1.0), added))


def _rank(why: Mapping[str, Any]) -> ScorePart:
    parts = tuple(
        ScorePart(
            name,
            RANK_WEIGHTS[name] * value,
            "product",
            (ScorePart("weight", RANK_WEIGHTS[name]), ScorePart(name, value)),
        )
        for name, value in why["parts"].items()
    )
    return ScorePart("rank", why["rank"], "sum", parts)


def _module(hit: Hit) -> ScorePart:
    why, score = hit["explanation"], hit["score"]
    by_modules = [_sub_query(part, why.get("mode", "hits")) for part in hit["match_explanation"]]
    if "weights" not in why and not by_modules:
        raise KeyError("match_explanation")
    if "weights" not in why:
        return ScorePart("score", score, "sum", tuple(by_modules), rounded_to=_MODULE_PLACES)
    terms = []
    for name, channel in hit["channels"].items():
        parts = tuple(by_modules) if name == "modules" else ()
        detail = ScorePart(f"score in {name}", channel["score"], parts=parts)
        terms.append(_rank_term(name, why["weights"][name], why["k"], int(channel["rank"]), detail))
    return ScorePart("score", score, "sum", tuple(terms), rounded_to=_MODULE_PLACES)


def _sub_query(part: Mapping[str, Any], mode: str) -> ScorePart:
    """Return what a sub-query adds: its hits, or their share of the modules it asks for, by its weight."""
    found = tuple(ScorePart(hit["module"], 1.0, note=f"{hit['rule']}: {hit['text']}") for hit in part["modules"])
    hits = ScorePart("hits", part["hits"], parts=found)
    weight = ScorePart("weight", part["normalized_weight"], rounded_to=_MODULE_PLACES)
    factors = [hits, weight]
    if mode == "coverage" and part["asked"]:
        asked = (ScorePart("modules asked", len(part["asked"])), ScorePart("power", -1))
        factors.insert(1, ScorePart("1 / modules asked", 1 / len(part["asked"]), "power", asked))
    value = math.prod(factor.value for factor in factors)
    return ScorePart(part["description"], value, "product", tuple(factors))


def _file(hit: Hit) -> ScorePart:
    why = hit["explanation"]
    relevance = _evidence(hit["relevance"], why)
    if math.isclose(hit["score"], hit["relevance"], abs_tol=10**-_FILE_PLACES):
        note = f"round {hit['round']}, found by {', '.join(hit['found_by'])}"
        return ScorePart("relevance", hit["score"], relevance.op, relevance.parts, note, _FILE_PLACES, relevance.points)
    return ScorePart("fused rank of its searches", hit["score"], parts=(relevance,), note=", ".join(hit["found_by"]))


def _evidence(value: float, why: Mapping[str, Any]) -> ScorePart:
    """Return the relevance by evidence. One that was raised, or judged, is given; the evidence tells more of it."""
    if "bands" not in why:
        return ScorePart("relevance", value, note=why["formula"])
    by_evidence = _banded(why, why.get("by the evidence", value))
    if "raised" in why:
        return ScorePart("relevance", value, parts=(by_evidence,), note=f"raised: {why['raised']}")
    if "share of a kind not asked for" in why:
        share = why["share of a kind not asked for"]
        if math.isclose(value, by_evidence.value * share, abs_tol=10**-_FILE_PLACES):
            return ScorePart("relevance", value, "product", (by_evidence, ScorePart(why["kind"], share)))
        return ScorePart("relevance", value, parts=(by_evidence,), note=f"{why['kind']}, which was asked for")
    return by_evidence


def _banded(why: Mapping[str, Any], value: float) -> ScorePart:
    terms = tuple(
        ScorePart(name, weight * (why["evidence"].get(name) or 0.0), "product", (
            ScorePart("weight", weight), ScorePart(name, why["evidence"].get(name) or 0.0, rounded_to=6),
        ))
        for name, weight in why["weights"].items()
    )  # fmt: skip
    weighed = ScorePart("evidence", math.fsum(term.value for term in terms), "sum", terms)
    points = tuple((float(x), min(max(float(y), 0.0), 1.0)) for x, y in why["bands"])
    curved = ScorePart("relevance", value, "curve", (weighed,), rounded_to=_FILE_PLACES, points=points)
    least = why.get("at least, by its words")
    if least is None:
        return curved
    floor = ScorePart("by its words", least, rounded_to=_FILE_PLACES)
    return ScorePart("relevance", value, "max", (curved, floor), rounded_to=_FILE_PLACES)


_TREES: Final[Mapping[str, Callable[[Hit], ScorePart]]] = {
    "reports": _report,
    "messages": _message,
    "conversations": _conversation,
    "modules": _module,
    "files": _file,
    "search": _among_all,
}
