import pytest

from querymill_workers.retrievers.modules.rules.names import analyze_query, shorthands_of
from querymill_workers.retrievers.modules.rules.scores import AskedPart, DocumentSummary, ScoredDocument
from querymill_workers.retrievers.modules.search.choose import (
    GUESSED_WEIGHT,
    NAMED_WEIGHT,
    TEXT_WEIGHT,
    channel_weights,
    fuse_channels,
    with_vectors,
)
from querymill_workers.retrievers.modules.search.judge import rank
from querymill_workers.retrievers.modules.search.understand import shares

SHORT = shorthands_of({"actor": [], "圆锥": ["vtkConeSource"]}, [])


def asked(text: str) -> list[AskedPart]:
    return [AskedPart(text, 5, shares([5])[0], analyze_query(text, shorthands=SHORT))]


def scored(*names: str) -> list[ScoredDocument]:
    summaries = [DocumentSummary(number, (name,), "") for number, name in enumerate(names)]
    return rank(summaries, asked("vtkActor vtkPlane"), match="exact")


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("vtkActor", NAMED_WEIGHT),
        ("vtk.A.B.plane", NAMED_WEIGHT),
        ("画一个圆锥", NAMED_WEIGHT),
        ("an actor", GUESSED_WEIGHT),
        ("blue", GUESSED_WEIGHT),
    ],
)
def test_only_modules_that_are_named_outright_weigh_fully(text: str, weight: float) -> None:
    assert channel_weights(asked(text)) == {"modules": weight, "text": TEXT_WEIGHT}


def test_the_module_channel_alone_keeps_its_scores() -> None:
    found = fuse_channels(scored("vtkActor", "vtkPlane"), {}, weights={})
    assert [(hit.document, hit.score, hit.channels) for hit in found] == [
        (0, 1.0, {"modules": (1, 1.0)}),
        (1, 1.0, {"modules": (1, 1.0)}),
    ]


def test_documents_that_tie_by_modules_are_told_apart_by_words() -> None:
    found = fuse_channels(
        scored("vtkActor", "vtkPlane"), {"text": [(1, 7.5), (9, 2.0)]}, weights={"modules": 2.0, "text": 1.0}
    )
    assert [hit.document for hit in found] == [1, 0, 9]
    assert found[0].score == pytest.approx(2 / 61 + 1 / 61)
    assert found[0].channels == {"modules": (1, 1.0), "text": (1, 7.5)}


def test_documents_that_tie_in_all_channels_keep_the_order_of_their_exact_hits() -> None:
    summaries = [DocumentSummary("a", ("vtkImageActor",), ""), DocumentSummary("b", ("vtkActor",), "")]
    ranked = rank(summaries, asked("vtkActor"), match="suffix")
    assert [hit.document for hit in ranked] == ["b", "a"]
    assert [hit.document for hit in fuse_channels(ranked, {"text": []}, weights={"modules": 2.0, "text": 1.0})] == [
        "b",
        "a",
    ]


def test_guesses_never_change_the_order_of_what_the_words_found() -> None:
    words = [(number, 1.0 / (1 + number)) for number in range(100, 200)]
    summaries = [DocumentSummary(199, ("vtkActor",), "")]
    guessed = rank(summaries, asked("actor"), match="exact")
    found = fuse_channels(guessed, {"text": words}, weights=channel_weights(asked("actor")))
    assert [hit.document for hit in found] == [number for number, _ in words]


def test_what_only_a_guess_finds_comes_after_what_the_words_found() -> None:
    guessed = rank([DocumentSummary(0, ("vtkActor",), "")], asked("actor"), match="exact")
    found = fuse_channels(guessed, {"text": [(5, 3.0)]}, weights=channel_weights(asked("actor")))
    assert [hit.document for hit in found] == [5, 0]


def parts(*weighted: tuple[str, float]) -> list[AskedPart]:
    each = shares([weight for _, weight in weighted])
    return [
        AskedPart(text, weight, share, analyze_query(text, shorthands=SHORT))
        for (text, weight), share in zip(weighted, each, strict=True)
    ]


def test_each_given_part_has_a_text_channel_with_its_share() -> None:
    assert channel_weights(parts(("blue", 10), ("red", 3)), given=True) == pytest.approx(
        {"modules": GUESSED_WEIGHT, "text:1": 10 / 13, "text:2": 3 / 13}
    )


def test_a_part_that_names_a_module_and_one_that_does_not_weigh_by_their_shares_alone() -> None:
    assert channel_weights(parts(("vtkConeSource", 10), ("blue sky", 3)), given=True) == pytest.approx(
        {"modules": 2 * 10 / 13, "text:1": 10 / 13, "text:2": 3 * 3 / 13}
    )


def test_a_shorthand_names_a_module_in_a_given_part_only() -> None:
    assert channel_weights(parts(("actor", 5)), given=True)["modules"] == NAMED_WEIGHT
    assert channel_weights(parts(("actor", 5)))["modules"] == GUESSED_WEIGHT


def test_swapping_two_weights_swaps_the_documents_of_two_text_channels() -> None:
    found = {"text:1": [(1, 9.0)], "text:2": [(2, 9.0)]}
    for weights, order in (((10, 3), [1, 2]), ((3, 10), [2, 1])):
        weighted = channel_weights(parts(("blue", weights[0]), ("red", weights[1])), given=True)
        assert [hit.document for hit in fuse_channels([], found, weights=weighted)] == order


def test_vectors_weigh_a_quarter_of_the_words_of_the_same_text() -> None:
    """With the shares 10/13 and 3/13, text:1 weighs 0.769 and vectors:1 0.192, text:2 0.231 and vectors:2 0.058."""
    weights = with_vectors({"modules": 2.0, "text:1": 10 / 13, "text:2": 3 / 13}, 0.25)
    assert {name: round(weight, 3) for name, weight in weights.items()} == {
        "modules": 2.0, "text:1": 0.769, "text:2": 0.231, "vectors:1": 0.192, "vectors:2": 0.058,
    }  # fmt: skip
    assert with_vectors({"modules": 0.001, "text": 1.0}, 0.25)["vectors"] == 0.25
