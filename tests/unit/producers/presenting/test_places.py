"""One id for every place: what is written is read again."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from querymill.presenting.places import LETTERS, Place, PlaceSpan

NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("place", "written", "link"),
    [
        (Place("reports", "filings", "ab12", PlaceSpan(42, 42)), "reports:filings/ab12#p42", "reports/ab12?page=42"),
        (Place("reports", "filings", "ab12", PlaceSpan(41, 43)), "reports:filings/ab12#p41-43", "reports/ab12?page=41"),
        (Place("files", "filings", "src/a.py", PlaceSpan(3, 9)), "files:filings/src/a.py#L3-9",
         "files/src/a.py?line=3"),
        (Place("messages", "filings", "s 1#x", message="m%1"), "messages:filings/s%201%23x#m=m%251",
         "messages/s%201%23x?message=m%251"),
        (Place("conversations", "filings", "雨", PlaceSpan(2, 2)), "conversations:filings/雨#m2",
         "conversations/%E9%9B%A8?message=2"),
        (Place("modules", "filings", "7"), "modules:filings/7", "modules/7"),
    ],
)  # fmt: skip
def test_an_id_names_kind_collection_document_and_part(place: Place, written: str, link: str) -> None:
    assert str(place) == written
    assert Place.parse(written) == place
    assert place.link == f"/console/collections/filings/{link}"


@given(st.sampled_from(sorted(LETTERS)), NAMES, st.one_of(st.none(), st.integers(0, 999_999)), NAMES)
def test_every_id_is_read_as_it_was_written(kind: str, document: str, number: int | None, message: str) -> None:
    span = None if number is None else PlaceSpan(number, number)
    for place in (
        Place(kind, "c", document, span),  # type: ignore[arg-type]
        Place(kind, "c", document, message=message),  # type: ignore[arg-type]
    ):
        assert Place.parse(str(place)) == place
        assert not any(character.isspace() or not character.isprintable() for character in str(place))


@pytest.mark.parametrize(
    "written", ["", "ab12", "reports:filings", "reports:filings/", "books:filings/a", "reports:../a#p1"]
)
def test_what_is_no_id_is_refused_with_an_example(written: str) -> None:
    with pytest.raises(ValueError, match="such as reports:filings/ab12#p42"):
        Place.parse(written)


def test_a_part_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="such as #p3"):
        Place.parse("reports:filings/ab12#L3")
