"""Which scope each kind of request needs. A new kind is looked at here before a key may ask for it."""

from querymill import CompareFiles, EmbedTexts, TextToEmbed
from querymill.gateway.http.scopes import REQUESTS, scope_of_kind, scopes_of
from querymill.keys import Scope

DELETES = {"drop_documents"}
OPERATES = {
    "learn_lexicon", "list_feedback", "list_set_aside", "recompute_ranks", "reembed",
    "reindex", "tell_caller", "weigh_vectors",
}  # fmt: skip
SEARCHES = {
    "answer", "conversations", "embed", "export_documents", "feedback", "files", "list_documents", "messages",
    "modules", "ranks", "reports", "rerank", "search", "show_document",
}  # fmt: skip


def test_every_kind_needs_one_scope() -> None:
    found = {scope: {kind for kind in REQUESTS if scope_of_kind(kind) is scope} for scope in Scope}
    assert found[Scope.DELETE] == DELETES
    assert found[Scope.OPERATE] == OPERATES
    assert found[Scope.SEARCH] == SEARCHES
    assert found[Scope.INGEST] == REQUESTS.keys() - DELETES - OPERATES - SEARCHES


def test_a_kind_of_a_newer_release_is_for_operators() -> None:
    assert scope_of_kind("poems") is Scope.OPERATE


def test_a_request_can_need_more_than_its_kind() -> None:
    texts = (TextToEmbed(id="a", text="a"),)
    assert scopes_of(EmbedTexts(collection="c", texts=texts)) == {Scope.SEARCH}
    assert scopes_of(EmbedTexts(collection="c", texts=texts, into="table")) == {Scope.INGEST}
    files = {"a.py": "0" * 64}
    assert scopes_of(CompareFiles(collection="c", files=files)) == {Scope.INGEST}
    assert scopes_of(CompareFiles(collection="c", files=files, remove=True)) == {Scope.INGEST, Scope.DELETE}
