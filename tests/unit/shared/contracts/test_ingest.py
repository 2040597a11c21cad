"""What is asked of sessions that are extended: each retriever has rules of its own."""

from typing import Any

import pytest
from pydantic import ValidationError

from querymill_shared.contracts.fields import Lane
from querymill_shared.contracts.ingest import Extend
from querymill_shared.contracts.jobs import decode_request

MESSAGE = {"message_id": "a", "text": "x"}
SESSION = {"session_id": "s", "messages": [MESSAGE]}


def asked(retriever: str, **fields: Any) -> dict[str, Any]:
    return {"collection": "c", "retriever": retriever, "documents": [SESSION | fields]}


@pytest.mark.parametrize("fields", [asked("messages", after=1), asked("conversations", name="Harbour")])
def test_an_extension_survives_the_wire(fields: dict[str, Any]) -> None:
    request = Extend.model_validate(fields)
    assert decode_request(request.model_dump_json()) == request
    assert (request.steps, request.lane) == (("extend",), Lane.NORMAL)


@pytest.mark.parametrize(
    ("fields", "rule"),
    [
        (asked("messages"), "documents.0.after: must say how many messages of the session are stored"),
        (asked("messages", after=0), "documents.0.after"),
        (asked("messages", after=1, name="Harbour"), "documents.0.name: is for conversations"),
        (asked("messages", after=1, user_name="Ada"), "documents.0.user_name: is for conversations"),
        (asked("messages", after=1, started_at="2026-01-01"), "documents.0.started_at: is for conversations"),
        (asked("messages", after=1, messages=[]), "documents.0.messages"),
        (asked("conversations", after=1), "documents.0.after: is for messages"),
        (asked("conversations", messages=[{"text": "x"}]), "documents.0.messages: every message needs a message_id"),
        (asked("conversations", messages=[MESSAGE, MESSAGE]), "every message_id must occur once"),
        (asked("conversations", messages=[]), "documents.0.messages"),
        (asked("conversations", mood="calm"), "documents.0.mood"),
        (asked("reports"), "retriever"),
        (asked("messages") | {"documents": []}, "documents"),
    ],
)
def test_a_broken_rule_names_its_field(fields: dict[str, Any], rule: str) -> None:
    with pytest.raises(ValidationError, match=rule.replace(".", r"\.")):
        Extend.model_validate(fields)
