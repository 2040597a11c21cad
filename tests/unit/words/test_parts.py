"""The ids of the entries of a document in parts."""

import pytest

from querymill_workers.words.parts import part_id, part_of


@pytest.mark.parametrize("document", ["s", "a b", "会话", "x\x1f#", "x\x1f#y", ""])
@pytest.mark.parametrize("number", [0, 1, 12])
def test_an_id_tells_the_document_and_the_part(document: str, number: int) -> None:
    assert part_of(part_id(document, number)) == (document, number)


def test_the_first_part_has_the_id_of_the_document() -> None:
    assert part_id("s", 0) == "s"
