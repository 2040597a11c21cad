"""Understand: what a request asks, read once from its words."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Final

from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.values import value
from querymill_workers.jobs.in_chat import context_of
from querymill_workers.retrievers.files.rules.code import code_text
from querymill_workers.retrievers.files.rules.kinds import FileKind, kinds_asked
from querymill_workers.retrievers.files.rules.named import NamedPath, max_definers, names_in, paths_in, quoted_in
from querymill_workers.retrievers.files.rules.question_frames import is_question, unframed, without_everyday
from querymill_workers.retrievers.files.rules.synonyms import stands_for
from querymill_workers.text.languages import is_han
from querymill_workers.text.thesaurus import Thesaurus
from querymill_workers.text.words import words

#: Words that must be left where the name of a language is dropped.
MIN_WORDS: Final = 2
_LANGUAGE: Final = re.compile(
    r"(?<![A-Za-z0-9_./-])(?:python|javascript|typescript|golang|java|rust|kotlin|scala)(?![A-Za-z0-9_./-]| +v?[0-9])",
    re.IGNORECASE,
)


@value
class QueryAnalysis:
    """What a request asks.

    ``text`` is what is searched; ``synonyms`` maps each synonym of a word of it to that word. ``names`` look like
    identifiers; ``quoted`` are those in quotes or called, each with the number of files that may define it for the
    request to mean them. ``paths`` are those it names, whether they exist or not, ``kinds`` the kinds of files it asks
    for.
    """

    text: str
    synonyms: Mapping[str, str]
    names: frozenset[str]
    quoted: Mapping[str, int]
    paths: Sequence[NamedPath]
    kinds: frozenset[FileKind]
    is_chinese: bool

    @property
    def recalled(self) -> str:
        """What finds files: the text that is searched, and the synonyms of its words."""
        return " ".join([self.text, *self.synonyms])


def meaning_of(request: FileSearch) -> str:
    """Return what a request asks: its query, under the turns of the chat without which it cannot be understood."""
    return context_of(request).meaning


def analyze_query(query: str, kinds: Collection[FileKind], thesaurus: Thesaurus) -> QueryAnalysis:
    """Read a request, which asks for some ``kinds`` of files beside those that its words speak of.

    Only a question has synonyms: a title or keywords use the words of the code.
    """
    text = search_text(query, thesaurus)
    is_asked, is_chinese = is_question(query), is_han(query)
    return QueryAnalysis(
        text,
        stands_for(words(text), thesaurus) if is_asked or is_chinese else {},
        names=frozenset(names_in(query)),
        quoted={name: max_definers(name, query) for name in quoted_in(query)},
        paths=paths_in(query),
        kinds=kinds_asked(query) | frozenset(kinds),
        is_chinese=is_chinese,
    )


def search_text(query: str, thesaurus: Thesaurus) -> str:
    """Return what is searched for a request: its words without a frame, and the English of what is Chinese.

    The name of a programming language says in which language, not about what: "python split a string" searches
    *split* and *string*. It counts where it is followed by a version, and where fewer than two other words are left.
    The same holds for the everyday words of a question: "what happens if …", "how many", "something".
    """
    english = dict.fromkeys(word for found in thesaurus.translated(query) for word in found.synonyms)
    text = " ".join([code_text(unframed(query)), *english])
    if is_question(query):
        plain = without_everyday(text)
        text = plain if len(set(words(plain))) >= MIN_WORDS else text
    bare = _LANGUAGE.sub(" ", text)
    return bare if len(set(words(bare))) >= MIN_WORDS else text
