"""Evaluation sets as conversations: messages, collections, the moment of asking."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest

from querymill_evaluation.cli.evaluate_kinds import Sample, prepare_conversations
from querymill_evaluation.conversation_sets import collection_of, read_conversation_set
from querymill_evaluation.sets import BadSet
from querymill_shared.contracts.conversations.search import ConversationSearch

TALK = {
    "_id": "a",
    "title": "",
    "text": "user: hello",
    "metadata": {
        "repo": "someone/thing",
        "started_at": "2026-01-01T10:00:00",
        "messages": [{"role": "user", "text": "hello", "created_at": "2026-01-02T10:00:00Z"}],
    },
}
QUERY = {
    "_id": "q",
    "text": "hello",
    "metadata": {"repo": "someone/thing", "committed_at": "2026-01-01T12:00:00+02:00"},
}


def written(folder: Path, corpus: Sequence[Mapping[str, object]], query: Mapping[str, object]) -> Path:
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)), encoding="utf-8")
    (folder / "queries.jsonl").write_text(json.dumps(query), encoding="utf-8")
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq\ta\t1\n", encoding="utf-8")
    return folder


def asked(folder: Path, **options: object) -> ConversationSearch:
    ((_, request),) = prepare_conversations(folder, options, Sample()).requests
    assert isinstance(request, ConversationSearch)
    return request


def test_a_document_is_a_session_with_its_messages(tmp_path: Path) -> None:
    chosen = read_conversation_set(written(tmp_path, [TALK], QUERY))
    ((collection, session),) = chosen.sessions
    assert collection == f"{tmp_path.name}.someone.thing"[:64]
    assert [(one.role, one.text, one.created_at) for one in session.messages] == [
        ("user", "hello", datetime(2026, 1, 2, 10, tzinfo=UTC))
    ]
    assert chosen.after == datetime(2026, 1, 3, 10, tzinfo=UTC)
    assert not chosen.undated


def test_now_is_when_it_was_asked_or_after_everything_or_as_told(tmp_path: Path) -> None:
    folder = written(tmp_path, [TALK], QUERY)
    assert asked(folder).now == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert asked(folder, now="after").now == datetime(2026, 1, 3, 10, tzinfo=UTC)
    assert asked(folder, now="2027-01-01T00:00:00Z").now == datetime(2027, 1, 1, tzinfo=UTC)
    assert asked(folder, scoring="product").scoring == "product"


def test_what_has_no_times_is_searched_by_default_but_not_by_a_time(tmp_path: Path) -> None:
    folder = written(tmp_path, [{"_id": "a", "title": "", "text": "你好"}], {"_id": "q", "text": "你好 2019年"})
    request = asked(folder)
    default = ConversationSearch(collection=request.collection, query=request.query)
    assert (request.scoring, request.joins_vectors) == (default.scoring, default.joins_vectors)
    assert (request.time_filter, request.collection) == (False, tmp_path.name[:64])
    assert asked(folder, scoring="bm25").scoring == "bm25"


def test_a_title_that_is_longer_than_a_name_is_cut(tmp_path: Path) -> None:
    ((_, session),) = read_conversation_set(written(tmp_path, [TALK | {"title": "wing " * 60}], QUERY)).sessions
    assert session.name == ("wing " * 40)


def test_a_document_that_breaks_a_rule_is_named(tmp_path: Path) -> None:
    folder = written(tmp_path, [TALK, TALK | {"_id": "b", "metadata": {"started_at": "soon"}}], QUERY)
    with pytest.raises(BadSet, match="document b: started_at: "):
        read_conversation_set(folder)


def test_a_collection_has_a_name_that_is_allowed() -> None:
    assert collection_of("set", {}) == "set"
    assert collection_of("set", {"repo": "a b/ç"}) == "set.a.b.."
    assert len(collection_of("set", {"repo": "x" * 100})) == 64
