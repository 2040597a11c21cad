"""Fields of a code document that weigh more than its other words: its own name, and its rare modules.

An example is often asked for by what it is called (its folders and its title), or by what few others use. Both are
terms of the document's entry in the text index, which no text yields: ``@n:cone`` says that *cone* is in its name, and
``@m:conesource`` that it uses vtkConeSource. A search asks for them beside the words of the query, and adds to the BM25
of the text

    0.5 × Σ times × idf × 1 / (1 + k1)      over the words of the query in the document's name
    1.2 × Σ times × idf × 1 / (1 + k1)      over the words of the query in the names of its rare modules

where a module is rare if at most a tenth of the documents use it, and the idf of a word there counts the documents
that use one of the rare modules of that word. Both weights were tried on one set (`tests/quality/modules.md`).
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from querymill_workers.retrievers.modules.rules.documents import DocumentId, order_of
from querymill_workers.retrievers.modules.rules.names import PREFIX, key_of, last_segment
from querymill_workers.text.bm25 import K1, Scored, idf
from querymill_workers.text.words import words

NAME_WEIGHT: Final = 0.5
MODULE_WEIGHT: Final = 1.2
#: A module is rare if at most one document in so many uses it.
RARE: Final = 10
#: At most so many modules are looked up for one query, those with the largest share of their words in it first.
MAX_MODULES: Final = 64
_NAME, _MODULE = "@n:", "@m:"
_STEMS: Final = frozenset({"index", "main"})
_IDENTIFIER: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*", re.ASCII)
_EXTENSION: Final = re.compile(r"\.[A-Za-z0-9]{1,5}$", re.ASCII)


def own_name(path: str, title: object = None) -> str:
    """Return what a document is called: its folders, its file unless that is only an index, and its title."""
    folders, _, file = path.replace("\\", "/").rpartition("/")
    stem = _EXTENSION.sub("", file)
    parts = [*folders.split("/"), "" if stem.lower() in _STEMS else stem, title if isinstance(title, str) else ""]
    return " ".join(filter(None, parts))


def searchable_text(description: str, names: Sequence[str], code: str) -> str:
    """Return the text to index: description, module names, and the identifiers of the code."""
    return "\n".join([description, " ".join(map(last_segment, names)), " ".join(_IDENTIFIER.findall(code))])


def counts_of(text: str, *, name: str, modules: Iterable[str]) -> Counter[str]:
    """Return the terms of a document's entry: the words of its text and name, and once each the terms of its fields."""
    counts = Counter(words(f"{name}\n{text}"))
    counts.update({_NAME + word for word in words(name)})
    counts.update({_MODULE + key_of(module) for module in modules if key_of(module)})
    return counts


def field_terms(query: Mapping[str, float], names: Sequence[str]) -> list[str]:
    """Return the terms to ask for beside the words of a query, given the module names of the collection."""
    asked = frozenset(query)
    shares = {key: len(own & asked) / len(own) for key, own in _words_of_modules(tuple(names)).items() if own & asked}
    best = sorted(shares, key=lambda key: (-shares[key], key))[:MAX_MODULES]
    return [*(_NAME + word for word in query), *(_MODULE + key for key in best)]


def rank_by_words(
    found: Sequence[tuple[DocumentId, Scored]], query: Mapping[str, float], names: Sequence[str]
) -> list[tuple[DocumentId, float]]:
    """Rank documents, best first, by BM25 of their text with what their names and rare modules add to it."""
    rarity = rarity_of([scored for _, scored in found], names)
    ranked = [(document, scored.score + field_bonus(scored, query, names, rarity=rarity)) for document, scored in found]
    return sorted(ranked, key=lambda hit: (-hit[1], order_of(hit[0])))


def rarity_of(found: Iterable[Scored], names: Sequence[str]) -> dict[str, int]:
    """Return by word how many documents use rare modules with the word in their names, a document once per module."""
    own = _words_of_modules(tuple(names))
    modules = {
        term.term.removeprefix(_MODULE): term.df
        for scored in found
        for term in scored.terms
        if term.term.startswith(_MODULE) and _is_rare(term.df, scored.statistics.units)
    }
    counted: Counter[str] = Counter()
    for key, df in modules.items():
        counted.update(dict.fromkeys(own.get(key, ()), df))
    return dict(counted)


def field_bonus(
    scored: Scored, query: Mapping[str, float], names: Sequence[str], *, rarity: Mapping[str, int]
) -> float:
    """Return what a document's name and rare modules add to the BM25 of its text."""
    units, own = scored.statistics.units, _words_of_modules(tuple(names))
    in_name = {term.term.removeprefix(_NAME): term.df for term in scored.terms if term.term.startswith(_NAME)}
    in_modules = {
        word
        for term in scored.terms
        if term.term.startswith(_MODULE) and _is_rare(term.df, units)
        for word in own.get(term.term.removeprefix(_MODULE), ())
    }
    by_name = math.fsum(query[word] * idf(units, df) for word, df in in_name.items() if word in query)
    by_module = math.fsum(
        query[word] * idf(units, min(rarity.get(word, 1), units)) for word in sorted(in_modules) if word in query
    )
    return (NAME_WEIGHT * by_name + MODULE_WEIGHT * by_module) / (1 + K1)


def _is_rare(df: int, units: int) -> bool:
    return df <= max(units // RARE, 1)


@lru_cache(maxsize=64)  # the names of a collection change seldom, and every query asks
def _words_of_modules(names: tuple[str, ...]) -> dict[str, frozenset[str]]:
    bare: Callable[[str], str] = lambda name: last_segment(name)[len(PREFIX) :]  # noqa: E731  # one line, used once
    found = {
        key_of(name): frozenset(words(bare(name) if last_segment(name).lower().startswith(PREFIX) else name))
        for name in names
    }
    return {key: own for key, own in found.items() if key and own}
