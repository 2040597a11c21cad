"""The learned lexicon: which modules plain words stand for, judged by how often they occur together.

A word stands for a module if documents that have the word in their description use the module far more often than
other documents do. Two figures decide: the log-likelihood ratio (Dunning, "Accurate Methods for the Statistics of
Surprise and Coincidence", 1993), and the share of the word's documents that use the module.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from querymill_shared.values import value
from querymill_workers.retrievers.modules.rules.names import (
    FoundModule,
    Shorthands,
    analyze_query,
    camel_words,
    distinct_modules,
    last_segment,
)
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary

#: Chance alone exceeds this ratio 1 time in 100 (chi-square, one degree of freedom).
MIN_RATIO: Final = 6.63
#: The share of a word's documents that must use the module.
MIN_SHARE: Final = 0.5
#: A word stands for at most this many modules, the most strongly connected ones.
MAX_MODULES_PER_WORD: Final = 3
#: A lexicon keeps at most this many words, the most strongly connected ones, so that it fits one database record.
MAX_WORDS: Final = 50_000
_RUN: Final = re.compile(r"[A-Za-z0-9]+|[\u3400-\u9fff]+", re.ASCII)


@value
class Lexicon:
    """Module names by lower-case word (Chinese: pair of characters), learned from a collection's descriptions."""

    words: Mapping[str, tuple[str, ...]]


EMPTY: Final = Lexicon({})


def words_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words of a text, in lower case, each with its start.

    Latin words are split at camel case. In Chinese every pair of adjacent characters is a word. Single letters and
    numbers are skipped.
    """
    for run in _RUN.finditer(text):
        said = run[0]
        if said.isascii():
            at, lowered = 0, said.lower()
            for word in camel_words(said):
                at = lowered.index(word, at)
                if len(word) > 1 and not word.isdigit():
                    yield word, run.start() + at
                at += len(word)
        else:
            yield from ((said[n : n + 2], run.start() + n) for n in range(len(said) - 1))


def learn(summaries: Iterable[DocumentSummary]) -> Lexicon:
    """Learn which words stand for which modules from the descriptions and modules of a collection."""
    documents = 0
    of_word, of_module = Counter[str](), Counter[str]()
    together: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for summary in summaries:
        documents += 1
        modules = {last_segment(name) for name in summary.names}
        of_module.update(modules)
        for word in {word for word, _ in words_in(summary.description)}:
            of_word[word] += 1
            together[word].update(modules)
    found = []
    for word, counts in together.items():
        strengths = [
            (strength, module)
            for module, both in counts.items()
            if both >= MIN_SHARE * of_word[word]
            and (strength := log_likelihood_ratio(both, of_word[word], of_module[module], documents)) > MIN_RATIO
        ]
        if strengths:
            best = sorted(strengths, key=lambda pair: (-pair[0], pair[1]))[:MAX_MODULES_PER_WORD]
            found.append((best[0][0], word, tuple(module for _, module in best)))
    found.sort(key=lambda entry: (-entry[0], entry[1]))
    return Lexicon({word: modules for _, word, modules in found[:MAX_WORDS]})


def log_likelihood_ratio(both: int, first: int, second: int, total: int) -> float:
    """Return Dunning's G² of two things seen together, or 0 if they are together no more often than by chance."""
    if both * total <= first * second:
        return 0.0
    cells = (both, first - both, second - both, total - first - second + both)
    rows, columns = (first, total - first), (second, total - second)
    expected = [row * column / total for column in columns for row in rows]
    observed = (cells[0], cells[2], cells[1], cells[3])
    return 2 * sum(seen * math.log(seen / chance) for seen, chance in zip(observed, expected, strict=True) if seen)


def plain_words(text: str, lexicon: Lexicon) -> list[FoundModule]:
    """Return the modules that the plain words of a text stand for, in the order of the words."""
    return [
        FoundModule(module, "lexicon", word, start)
        for word, start in words_in(text)
        for module in lexicon.words.get(word, ())
    ]


def modules_of(text: str, *, shorthands: Shorthands, lexicon: Lexicon) -> tuple[FoundModule, ...]:
    """Return the modules that a text asks for: those that it names, or those of the lexicon if it names none.

    Decided by measurement: modules of the lexicon, added to named ones, make the results worse.
    """
    return analyze_query(text, shorthands=shorthands) or distinct_modules(plain_words(text, lexicon))
