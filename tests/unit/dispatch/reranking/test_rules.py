"""What the judge makes of the explanation of an absence."""

from querymill_shared.contracts.why_not import Absence, Lever
from querymill_workers.dispatch.reranking.rules import absence_in
from querymill_workers.services.rules.reranking import GivenHit, Reranked, rerank

GATES = ("filter", "limit")


def judged(*relevances: float) -> list[Reranked]:
    given = [GivenHit(str(place), 0.1) for place in range(1, len(relevances) + 1)]
    return rerank(given, [(hit.id, value) for hit, value in zip(given, relevances, strict=True)], combine="relevance")


def test_a_candidate_that_the_judge_put_down_failed_at_its_gate() -> None:
    """Second before the judge and seventh after it, where five are returned: a limit of seven would bring it in."""
    order = judged(0.9, 0.1, 0.8, 0.7, 0.6, 0.5, 0.4)
    absence = absence_in(Absence.as_hit("x", GATES, 2), order, shown=5, limit="limit")
    assert absence is not None
    assert absence.failed is not None
    assert absence.failed.name == "rerank"
    assert absence.failed.said == "place 2 before the judge, 7 after it (relevance 0.1); 5 are returned"
    assert (absence.place, absence.lever) == (None, Lever(fields={"limit": 7}, place=7))


def test_a_candidate_that_is_returned_has_its_place_after_the_judge() -> None:
    absence = absence_in(Absence.as_hit("x", GATES, 2), judged(0.1, 0.9), shown=1, limit="limit")
    assert absence is not None
    assert (absence.place, absence.failed, absence.gates[-1].said) == (
        1,
        None,
        "place 2 before the judge, 1 after it (relevance 0.9)",
    )


def test_what_is_no_candidate_failed_before_the_judge_whose_order_nobody_foretells() -> None:
    lever = Lever(fields={"filter": {}}, place=3)
    before = Absence.at("x", GATES, "filter", "it does not pass", lever=lever)
    absence = absence_in(before, judged(0.5), shown=5, limit="limit")
    assert absence is not None
    assert [gate.outcome for gate in absence.gates] == ["failed", "unreached", "unreached"]
    assert absence.lever == Lever(fields={"filter": {}}, place=None)
    assert absence_in(None, judged(0.5), shown=5, limit="limit") is None
