import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.modules.rules.documents import DocumentId
from querymill_workers.retrievers.modules.rules.names import FoundModule, Match, analyze_query, hits
from querymill_workers.retrievers.modules.rules.scores import AskedPart, DocumentSummary, Mode, ModuleRecall
from querymill_workers.retrievers.modules.search.judge import rank, score
from querymill_workers.retrievers.modules.search.recall import candidates
from querymill_workers.retrievers.modules.search.understand import shares


def asked(*parts: tuple[str, float], mode: Mode = "hits") -> list[AskedPart]:
    normalised = shares([weight for _, weight in parts])
    return [
        AskedPart(text, weight, share, analyze_query(text), mode)
        for (text, weight), share in zip(parts, normalised, strict=True)
    ]


def summary(document: DocumentId, *names: str, description: str = "") -> DocumentSummary:
    return DocumentSummary(document, names, description)


def test_the_worked_example() -> None:
    """Weights 10 and 3 → 0.769 and 0.231; 2 hits and 1 hit → 1.538 + 0.231 = 1.769."""
    sub_queries = asked(("vtkActor with vtkMapper", 10), ("vtkConeSource", 3))
    assert [round(sub.normalized_weight, 3) for sub in sub_queries] == [0.769, 0.231]
    found = score(summary(1, "vtkActor", "vtkMapper", "vtkConeSource"), sub_queries, match="suffix")
    assert found is not None
    assert round(float(found.score), 3) == 1.769
    first, second = (each.explained for each in found.found)
    assert (first.hits, second.hits) == (2, 1)
    assert round(2 * 0.769231, 3) == 1.538


def test_a_score_can_be_recomputed_from_its_explanation() -> None:
    sub_queries = asked(("vtkActor, vtkMapper", 7), ("vtkPlane", 2), ("nothing", 4))
    found = score(summary(1, "vtkActor", "vtkImageMapper", "vtkPlane"), sub_queries, match="suffix")
    assert found is not None
    parts = [each.explained for each in found.found]
    again = sum(part.hits * part.normalized_weight for part in parts)
    assert float(found.score) == pytest.approx(again, abs=1e-5)
    assert found.keywords == ("vtkActor", "vtkMapper", "vtkPlane")


def test_a_part_without_modules_keeps_its_share_of_the_weights() -> None:
    found = score(summary(1, "vtkActor"), asked(("vtkActor", 1), ("something blue", 3)), match="suffix")
    assert found is not None
    assert float(found.score) == 0.25


def test_weights_that_are_all_zero_give_scores_of_zero_and_lose_no_document() -> None:
    (found,) = rank([summary(1, "vtkActor")], asked(("vtkActor", 0), ("vtkMapper", 0)), match="suffix")
    assert float(found.score) == 0


def test_documents_without_a_hit_are_not_returned() -> None:
    assert rank([summary(1, "vtkPlane")], asked(("vtkActor", 1)), match="suffix") == []


def test_a_module_counts_once_however_many_names_have_it() -> None:
    found = score(summary(1, "vtkMapper", "vtkImageMapper", "vtk.A.vtkMapper"), asked(("vtkMapper", 1)), match="suffix")
    assert found is not None
    assert float(found.score) == 1


@pytest.mark.parametrize(
    ("names", "description", "how"),
    [
        (("vtkImageMapper", "vtkMapper"), "vtkMapper", "exact"),
        (("vtkImageMapper",), "vtkMapper", "suffix"),
        (("vtkPlane",), "shows a Mapper", "description"),
        (("vtkPlane",), "用vtkmapper来画", "description"),
        (("vtkPlane",), "mappers only", None),
    ],
)
def test_names_come_before_the_description(names: tuple[str, ...], description: str, how: str | None) -> None:
    found = score(summary(1, *names, description=description), asked(("vtkMapper", 1)), match="suffix")
    assert (None if found is None else found.found[0].hits[0].how) == how


def test_exact_match_leaves_suffixes_alone() -> None:
    assert score(summary(1, "vtkImageMapper"), asked(("vtkMapper", 1)), match="exact") is None


def test_coverage_is_the_share_of_the_modules_asked_for() -> None:
    sub_queries = asked(("vtkActor vtkMapper vtkPlane vtkMath", 1), mode="coverage")
    found = score(summary(1, "vtkActor", "vtkPlane"), sub_queries, match="suffix")
    assert found is not None
    assert float(found.score) == 0.5


def test_ties_go_to_more_parts_then_to_exact_hits_then_to_the_document_id() -> None:
    sub_queries = asked(("vtkMapper vtkPlane", 5), ("vtkActor vtkMath", 5))
    summaries = [
        summary("b", "vtkMapper", "vtkPlane"),
        summary(10, "vtkMapper", "vtkActor"),
        summary("a", "vtkMapper", "vtkPlane"),
        summary(2, "vtkMapper", "vtkActor"),
        summary(1, "vtkImageMapper", "vtkActor"),
        summary(0, "vtkMapper", "vtkPlane"),
    ]
    assert [found.document for found in rank(summaries, sub_queries, match="suffix")] == [2, 10, 1, 0, "a", "b"]


def test_scores_that_are_equal_on_paper_tie() -> None:
    sub_queries = asked(("vtkA vtkB", 0.1), ("vtkC", 0.2))
    first, second = rank([summary(1, "vtkA", "vtkB"), summary(2, "vtkC")], sub_queries, match="suffix")
    assert first.score == second.score


_WORDS = ["A", "B", "C", "BA", "CA"]
_DOCUMENTS = st.lists(st.lists(st.sampled_from(_WORDS), min_size=1, max_size=4, unique=True), min_size=1, max_size=12)
_PARTS = st.lists(
    st.tuples(st.lists(st.sampled_from(_WORDS), max_size=3), st.sampled_from([0.0, 1.0, 3.0, 5.0])),
    min_size=1,
    max_size=3,
)


def recalled(summaries: list[DocumentSummary], sub_queries: list[AskedPart], match: Match) -> dict[str, ModuleRecall]:
    def having(module: FoundModule, how: Match) -> list[DocumentId]:
        return [
            summary.document
            for summary in summaries
            if any(hits(module.name, name, match=how) for name in summary.names)
        ]

    modules = [module for sub_query in sub_queries for module in sub_query.modules]
    return {module.key: ModuleRecall(having(module, "exact"), having(module, match)) for module in modules}


@given(
    documents=_DOCUMENTS,
    parts=_PARTS,
    limit=st.integers(1, 12),
    match=st.sampled_from(["suffix", "exact"]),
    mode=st.sampled_from(["hits", "coverage"]),
)
def test_the_candidates_are_the_head_of_the_whole_ranking(
    documents: list[list[str]], parts: list[tuple[list[str], float]], limit: int, match: Match, mode: Mode
) -> None:
    summaries = [summary(number, *(f"vtk{name}" for name in names)) for number, names in enumerate(documents)]
    sub_queries = asked(*((" ".join(f"vtk{name}" for name in names), weight) for names, weight in parts), mode=mode)
    whole = [found.document for found in rank(summaries, sub_queries, match=match)]
    assert candidates(recalled(summaries, sub_queries, match), sub_queries, limit=limit) == whole[:limit]


@given(st.lists(st.floats(0, 1e308), min_size=1, max_size=8))
def test_shares_add_up_to_one_unless_every_weight_is_zero(weights: list[float]) -> None:
    assert sum(shares(weights)) == (1 if any(weights) else 0)
