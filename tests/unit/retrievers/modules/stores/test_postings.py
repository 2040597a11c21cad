"""How a suffix of a name leads to documents."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_workers.retrievers.modules.rules.names import Match, hits, key_of, reversal
from querymill_workers.retrievers.modules.stores.postings import Posting, recall_of, reversals
from tests.fixtures.world import example


def test_names_that_differ_in_case_alone_are_one() -> None:
    document = ModuleDocument.model_validate(example(1, "vtkActor", "VTKactor", "vtk.A.vtkActor"))
    assert list(reversals(document)) == ["rotcaktv"]


_NAMES = st.from_regex(r"\A(vtk|VTK)?[A-Ca-c]{1,4}\Z")


def postings_of(names: dict[int, list[str]]) -> list[Posting]:
    found: dict[str, list[int]] = {}
    for document, own in names.items():
        for reverse in {reversal(name) for name in own}:
            found.setdefault(reverse, []).append(document)
    return list(found.items())


@pytest.mark.parametrize("match", ["suffix", "exact"])
@given(
    names=st.dictionaries(st.integers(0, 9), st.lists(_NAMES, min_size=1, max_size=3), max_size=6),
    module=_NAMES,
)
def test_postings_recall_what_a_scan_of_the_names_finds(match: Match, names: dict[int, list[str]], module: str) -> None:
    key = key_of(module)
    if not key:
        return
    found = recall_of(key, postings_of(names), match=match)
    assert found.all == {
        document for document, own in names.items() if any(hits(module, name, match=match) for name in own)
    }
    assert found.exactly == {
        document for document, own in names.items() if any(hits(module, name, match="exact") for name in own)
    }
