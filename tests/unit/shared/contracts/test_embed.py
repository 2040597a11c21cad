import struct
from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.embed import MAX_TEXT_CHARS, MAX_TEXTS, EmbedResult, EmbedTexts, pack_vector
from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.jobs import decode_request, decode_result

TEXT = {"id": "a", "text": "ships"}


def embed(**changes: Any) -> EmbedTexts:
    return EmbedTexts.model_validate({"collection": "c", "texts": [TEXT]} | changes)


def texts(count: int) -> list[dict[str, str]]:
    return [{"id": str(number), "text": "x"} for number in range(count)]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"texts": []}, "texts"),
    ({"texts": texts(MAX_TEXTS + 1)}, "texts"),
    ({"texts": [TEXT, TEXT]}, "every id must occur once"),
    ({"texts": [TEXT | {"text": " \n\x00"}]}, "must not be empty or blank"),
    ({"texts": [TEXT | {"text": "x" * (MAX_TEXT_CHARS + 1)}]}, "texts.0.text"),
    ({"texts": [TEXT | {"text": "\ud800"}]}, "texts.0.text"),
    ({"texts": [TEXT | {"id": ""}]}, "texts.0.id"),
    ({"texts": [TEXT | {"id": "x" * 201}]}, "texts.0.id"),
    ({"texts": [TEXT | {"id": "a\x00"}]}, "texts.0.id"),
    ({"texts": [TEXT | {"id": 7}]}, "texts.0.id"),
    ({"texts": [TEXT | {"title": "t"}]}, "texts.0.title"),
    ({"input_type": "document"}, "input_type"),
    ({"into": "file"}, "into"),
    ({"deadline": 5}, "deadline"),
    ({"collection": "a b"}, "collection"),
    ({"model": "m"}, "model"),
]


@pytest.mark.parametrize(("changes", "rule"), BAD)
def test_what_breaks_a_rule_is_refused_with_the_field_and_the_rule(changes: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule):
        embed(**changes)


def test_embedding_is_bulk_work_without_a_deadline() -> None:
    request = embed()
    assert (request.lane, request.deadline, request.input_type, request.into) == (Lane.BULK, None, "passage", "result")
    assert decode_request(request.model_dump_json()) == request


def test_as_many_texts_as_may_be_travel_in_one_job() -> None:
    assert len(embed(texts=texts(MAX_TEXTS)).texts) == MAX_TEXTS


def test_nul_characters_of_extracted_text_become_blanks() -> None:
    assert embed(texts=[{"id": "a", "text": "a\x00b"}]).texts[0].text == "a b"


def test_a_vector_comes_back_as_it_was_packed() -> None:
    floats = (0.1, -0.0, 1e-40, 3.4028235e38)
    packed = pack_vector(struct.pack("<4f", *floats))
    result = EmbedResult(job_id="j", total=1, complete=True, model="m", dimensions=4, vectors={"a": packed})
    decoded = decode_result(result.model_dump_json())
    assert isinstance(decoded, EmbedResult)
    assert struct.pack("<4f", *decoded.embedding("a")) == struct.pack("<4f", *floats)


def test_a_vector_of_another_length_than_it_says_is_not_unpacked() -> None:
    packed = pack_vector(struct.pack("<2f", 1, 2))
    result = EmbedResult(job_id="j", total=1, complete=True, model="m", dimensions=4, vectors={"a": packed})
    with pytest.raises(struct.error):
        result.embedding("a")


def test_a_text_can_name_its_document() -> None:
    part = TEXT | {"document": "report-7"}
    assert decode_request(embed(texts=[part], into="table").model_dump_json()) == embed(texts=[part], into="table")
