"""Documents are cut into jobs by number, by size, and by name."""

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from querymill.ingesting.packing import Packer, PackLimits

LIMITS = PackLimits(documents=4, size=10)
Document = tuple[str, int]
DOCUMENTS = st.lists(st.tuples(st.sampled_from("abcdefgh"), st.integers(0, 12)), max_size=30)


def packer(*, with_names: bool = True) -> Packer[Document]:
    return Packer(LIMITS, size_of=lambda one: one[1], name_of=(lambda one: one[0]) if with_names else None)


def size(documents: Sequence[Document]) -> int:
    return sum(length for _, length in documents)


@given(DOCUMENTS)
def test_every_document_is_in_one_job_and_in_its_order(documents: list[Document]) -> None:
    assert [one for job in packer().cut(documents) for one in job] == documents


@given(DOCUMENTS)
def test_a_job_keeps_to_the_limits_and_only_a_document_alone_is_larger(documents: list[Document]) -> None:
    for job in packer().cut(documents):
        assert len(job) <= LIMITS.documents
        assert size(job) <= LIMITS.size or len(job) == 1
        assert len({name for name, _ in job}) == len(job), "two versions of a document"


@given(DOCUMENTS)
def test_no_job_ends_before_it_must(documents: list[Document]) -> None:
    for job, (first, *_) in pairwise(packer(with_names=False).cut(documents)):
        assert len(job) == LIMITS.documents or size([*job, first]) > LIMITS.size


def test_what_is_taken_is_held_no_more() -> None:
    some = packer()
    assert some.put(("a", 1)) == ()
    assert list(some.put(("a", 2))) == [("a", 1)]
    assert list(some.take()) == [("a", 2)]
    assert list(some.take()) == []
    assert list(some.put(("a", 3))) == []
