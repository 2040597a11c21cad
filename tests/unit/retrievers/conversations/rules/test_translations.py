"""The English of Chinese questions."""

from querymill_workers.lexicon import thesauri
from querymill_workers.retrievers.conversations.rules.translations import translate

THESAURUS = thesauri()["conversations"]


def test_a_question_gives_the_english_of_its_words_the_longest_first() -> None:
    found = {expansion.term: expansion.synonyms for expansion in translate("删除会话的快捷键，文件名", THESAURUS)}
    assert found == {
        "删除": ("delete", "remove"), "会话": ("session",), "快捷键": ("shortcut", "hotkey"), "文件名": ("filename",),
    }  # fmt: skip


def test_technical_terms_keep_their_synonyms_in_latin_letters() -> None:
    found = {expansion.term: expansion.synonyms for expansion in translate("db 超时", THESAURUS)}
    assert found == {"db": ("database",), "超时": ("timeout",)}


def test_a_question_without_a_known_word_adds_nothing() -> None:
    assert translate("乌龟 ships", THESAURUS) == []
