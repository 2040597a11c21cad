"""Questions proposed by rules, and the folder that holds what a person decides."""

from pathlib import Path
from typing import Any

import pydantic
import pytest

from querymill_evaluation.draft_sets import BadDraft, DraftSet, open_drafts
from querymill_evaluation.drafting import DraftSource, Proposal, asked_in, terms_of, with_message_ids
from querymill_evaluation.sets import read_parts


def proposals(kind: str, *documents: dict[str, Any], wanted: int = 10) -> dict[str, Proposal]:
    source = DraftSource(kind, wanted)
    assert len(list(source.read(documents))) == len(documents)
    return {proposal.judged: proposal for proposal in source.proposals()}


def session(name: str, *texts: str) -> dict[str, Any]:
    return {"session_id": name, "started_at": "2026-01-01T00:00:00Z", "messages": [{"text": text} for text in texts]}


def test_the_message_after_a_question_answers_it_and_the_question_is_left_out_of_the_search() -> None:
    made = proposals("messages", session("s", "Hi. Which crane was bought?", "the tall Liebherr crane at the quay"))
    asked = made["s#1"]
    assert (asked.question, asked.drafted_by) == ("Which crane was bought?", "asked there")
    assert asked.metadata == {"exclude_message_id": "s#0"}


def test_messages_without_an_id_get_one_because_judgements_name_them() -> None:
    document = session("s", "a", "b")
    document["messages"][1]["message_id"] = "own"
    assert [one["message_id"] for one in with_message_ids("messages", document)["messages"]] == ["s#0", "own"]
    assert with_message_ids("conversations", document) is document


def test_a_session_is_asked_for_by_its_first_question() -> None:
    made = proposals("conversations", session("s", "hello", "Why does the build fail on arm64?", "because of wheels"))
    assert made["s"].question == "Why does the build fail on arm64?"


def test_a_page_is_asked_for_by_the_rare_words_of_its_sentence() -> None:
    pages = [
        {"page": 1, "text": "The harbour was dredged by excavators. The harbour is closed on the Sunday."},
        {"page": 2, "text": "The harbour was closed. Excavators were sold on the Sunday."},
        {"page": 3, "text": "The harbour is closed."},
    ]
    made = proposals("reports", {"sha1": "r", "pages": pages})
    assert set(made) == {"r/1", "r/2", "r/3"}
    assert made["r/2"].question == "What is said about Excavators, sold and Sunday?"
    assert made["r/3"].question == "What is said about harbour and closed?"


def test_a_chinese_page_is_asked_for_in_chinese() -> None:
    made = proposals("reports", {"sha1": "r", "pages": [{"page": 1, "text": "港口去年挖深，今年购买起重机七台。"}]})
    assert made["r/1"].question.startswith("关于")
    assert made["r/1"].question.endswith("，说了什么？")


def test_a_file_is_asked_for_by_the_words_of_a_name_it_defines() -> None:
    made = proposals("files", {"path": "a.py", "content": "import os\n\ndef restore_unacked_messages():\n    pass\n"})
    assert made["a.py"].question == "Where is restore unacked messages done?"


def test_a_code_document_is_asked_for_by_its_description() -> None:
    meta = {"vtkjs_modules": ["vtkActor"], "description": "Cut the volume with an oblique plane."}
    made = proposals("modules", {"faiss_id": 0, "file_path": "a.js", "code": "x", "meta_info": meta})
    assert set(made) == {"0"}
    assert "oblique" in made["0"].question


def test_a_passage_that_says_nothing_is_passed_over() -> None:
    assert proposals("messages", session("s", "ok", "👍", "and then this")) == {}


def test_the_sample_is_the_same_each_time_and_known_passages_are_not_proposed_again() -> None:
    documents = [session(f"s{n}", f"The crane number{n} lifted container{n} yesterday.") for n in range(40)]
    first = list(proposals("conversations", *documents, wanted=2))
    assert first == list(proposals("conversations", *documents[::-1], wanted=2))
    assert len(first) == 16  # eight for each question that is wanted
    source = DraftSource("conversations", 2)
    list(source.read(documents))
    assert [one.judged for one in source.proposals(known=first[:15])] == first[15:]


def test_terms_and_questions_of_texts() -> None:
    assert terms_of("the getUserName of 港口起重机 and it") == ["getUserName", "港口起重"]
    assert asked_in("No. Is it?\nWhere was   the crane bought? Here.") == "Where was the crane bought?"
    assert asked_in("起重机是什么时候买的？上周。") == "起重机是什么时候买的？"
    assert asked_in("It was bought.") is None


def drafted(folder: Path) -> DraftSet:
    drafts = open_drafts(folder, "chats", "conversations")
    drafts.write_corpus([session("s", "hello"), session("t", "hello")])
    drafts.propose([Proposal("s", "hello", "who says it?", "rare words"), Proposal("t", "hello", "who?", "chat model")])
    return drafts


def test_what_a_person_decides_is_in_the_set_at_once_and_the_rest_is_pending_later(tmp_path: Path) -> None:
    drafts = drafted(tmp_path / "set")
    drafts.decide(drafts.pending[0], "edited", "who greets?")
    again = open_drafts(tmp_path / "set", "chats", "conversations")
    assert [draft.id for draft in again.pending] == ["q002"]
    qrels, queries, corpus = read_parts(tmp_path / "set")
    assert (qrels, len(corpus)) == ({"q001": {"s": 1}}, 2)
    assert [(query.text, query.metadata) for query in queries] == [("who greets?", {"drafted_by": "rare words"})]
    again.decide(again.pending[0], "dropped")
    assert [draft.id for draft in open_drafts(tmp_path / "set", "chats", "conversations").kept] == ["q001"]


def test_an_edit_that_says_nothing_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    drafts = drafted(tmp_path / "set")
    with pytest.raises(pydantic.ValidationError):
        drafts.decide(drafts.pending[0], "edited", " ")
    assert len(drafts.pending) == 2


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "queries.jsonl").touch()
    with pytest.raises(BadDraft, match=r"must be a new folder, or one with drafts.jsonl; it has queries.jsonl"):
        open_drafts(tmp_path, "chats", "messages")
    drafted(tmp_path / "set")
    with pytest.raises(BadDraft, match="kind: holds drafts for 'conversations', not for 'messages'"):
        open_drafts(tmp_path / "set", "chats", "messages")
    with pytest.raises(BadDraft, match="collection: holds drafts for 'chats', not for 'c'"):
        open_drafts(tmp_path / "set", "c", "conversations")
    (tmp_path / "set" / "drafts.jsonl").write_text("{}\n")
    with pytest.raises(BadDraft, match="collection: Field required"):
        open_drafts(tmp_path / "set", "chats", "conversations")
