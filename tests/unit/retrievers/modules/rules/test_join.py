import pytest

from querymill_workers.retrievers.modules.rules.join import (
    GUESSED_WEIGHT,
    NAMED_WEIGHT,
    TEXT_WEIGHT,
    channel_weights,
    fuse_channels,
    rank_by_modules,
)
from querymill_workers.retrievers.modules.rules.names import analyze_query, shorthands_of
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary, ScoredDocument, SubQuery, rank, shares

SHORT = shorthands_of({"actor": []}, [])


def asked(text: str) -> list[SubQuery]:
    return [SubQuery(text, 5, shares([5])[0], analyze_query(text, shorthands=SHORT))]


def scored(*names: str) -> list[ScoredDocument]:
    summaries = [DocumentSummary(number, (name,), "") for number, name in enumerate(names)]
    return rank(summaries, asked("vtkActor vtkPlane"), match="exact")


@pytest.mark.parametrize(
    ("text", "weight"),
    [
        ("vtkActor", NAMED_WEIGHT),
        ("vtk.A.B.plane", NAMED_WEIGHT),
        ("an actor", GUESSED_WEIGHT),
        ("blue", GUESSED_WEIGHT),
    ],
)
def test_only_modules_that_are_named_outright_weigh_fully(text: str, weight: float) -> None:
    assert channel_weights(asked(text)) == {"modules": weight, "text": TEXT_WEIGHT}


def test_the_module_channel_alone_keeps_its_scores() -> None:
    found = rank_by_modules(scored("vtkActor", "vtkPlane"))
    assert [(hit.document, hit.score, hit.channels) for hit in found] == [
        (0, 1.0, {"modules": (1, 1.0)}),
        (1, 1.0, {"modules": (1, 1.0)}),
    ]


def test_documents_that_tie_by_modules_are_told_apart_by_words() -> None:
    found = fuse_channels(scored("vtkActor", "vtkPlane"), [(1, 7.5), (9, 2.0)], weights={"modules": 2.0, "text": 1.0})
    assert [hit.document for hit in found] == [1, 0, 9]
    assert found[0].score == pytest.approx(2 / 61 + 1 / 61)
    assert found[0].channels == {"modules": (1, 1.0), "text": (1, 7.5)}


def test_documents_that_tie_in_all_channels_keep_the_order_of_their_exact_hits() -> None:
    summaries = [DocumentSummary("a", ("vtkImageActor",), ""), DocumentSummary("b", ("vtkActor",), "")]
    ranked = rank(summaries, asked("vtkActor"), match="suffix")
    assert [hit.document for hit in ranked] == ["b", "a"]
    assert [hit.document for hit in fuse_channels(ranked, [], weights={"modules": 2.0, "text": 1.0})] == ["b", "a"]


def test_guesses_never_change_the_order_of_what_the_words_found() -> None:
    words = [(number, 1.0 / (1 + number)) for number in range(100, 200)]
    summaries = [DocumentSummary(199, ("vtkActor",), "")]
    guessed = rank(summaries, asked("actor"), match="exact")
    found = fuse_channels(guessed, words, weights=channel_weights(asked("actor")))
    assert [hit.document for hit in found] == [number for number, _ in words]


def test_what_only_a_guess_finds_comes_after_what_the_words_found() -> None:
    guessed = rank([DocumentSummary(0, ("vtkActor",), "")], asked("actor"), match="exact")
    found = fuse_channels(guessed, [(5, 3.0)], weights=channel_weights(asked("actor")))
    assert [hit.document for hit in found] == [5, 0]
