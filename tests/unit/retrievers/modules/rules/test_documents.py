from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.retrievers.modules.rules.documents import DocumentId, decode_id, encode_id, order_of

_IDS = st.integers(-(2**63), 2**63 - 1) | st.text(max_size=20)


def test_numbers_are_ordered_by_value_and_before_paths() -> None:
    documents: list[DocumentId] = ["b", 10, "a", 0, 9]
    assert sorted(documents, key=order_of) == [0, 9, 10, "a", "b"]


def test_the_number_0_and_the_path_0_are_told_apart() -> None:
    assert (encode_id(0), encode_id("0"), encode_id("图/锥体.js")) == ("0", '"0"', '"图/锥体.js"')


@given(_IDS)
def test_an_id_survives_as_text(document: DocumentId) -> None:
    back = decode_id(encode_id(document))
    assert (back, type(back)) == (document, type(document))


@given(_IDS, _IDS)
def test_different_ids_differ_as_text_and_in_order(left: DocumentId, right: DocumentId) -> None:
    assert (encode_id(left) == encode_id(right)) == (left == right) == (order_of(left) == order_of(right))
