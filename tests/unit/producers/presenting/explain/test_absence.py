from querymill.presenting.explain.absence import say_absence, say_lever
from querymill_shared.contracts.why_not import Absence, Lever

GATES = ("collection", "candidates", "top_n")


def test_the_gate_its_numbers_and_the_lever_are_said() -> None:
    lever = Lever(fields={"candidates": 14, "top_n": 12}, place=12)
    missed = Absence.at("ab12", GATES, "candidates", "14th, 10 are taken", lever=lever)
    assert say_absence(missed) == (
        "ab12 was lost at: candidates (14th, 10 are taken)",
        "candidates=14 and top_n=12 bring it in, to place 12",
    )
    assert say_absence(Absence.as_hit("ab12", GATES, 3)) == ("ab12 is a hit (at place 3)",)


def test_a_long_list_is_counted_and_a_gate_alone_promises_no_place() -> None:
    assert say_lever(Lever(fields={"documents": list("abcd")}, place=1)).startswith("documents=[a, … 4 in all] brings")
    assert say_lever(Lever(fields={"candidates": 31})) == "candidates=31 brings it past this gate"
