"""The learned lexicon: plain words to modules, by how often descriptions and modules go together.

A word stands for a module when the documents whose description has the word use the module far more often
than the others do: by the log-likelihood ratio (Dunning, "Accurate Methods for the Statistics of Surprise
and Coincidence", 1993), and by the share of the word's documents that use it.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from querymill_workers.retrievers.modules.rules.names import (
    FoundModule,
    Shorthands,
    analyze_query,
    camel_words,
    distinct_modules,
    last_segment,
)
from querymill_workers.retrievers.modules.rules.scores import DocumentSummary

#: A ratio above this comes about by chance 1 time in 100 (chi-square, one degree of freedom).
MIN_RATIO: Final = 6.63
#: Share of a word's documents that must use the module.
MIN_SHARE: Final = 0.5
#: Modules that one word may stand for, the most strongly connected first.
MAX_MODULES_PER_WORD: Final = 3
#: Words kept, the most strongly connected first, so that a lexicon stays one record of its store.
MAX_WORDS: Final = 50_000
_RUN: Final = re.compile(r"[A-Za-z0-9]+|[\u3400-\u9fff]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Lexicon:
    """What a collection's descriptions taught: lower-case words (Chinese: pairs of characters) to module names."""

    words: Mapping[str, tuple[str, ...]]


EMPTY: Final = Lexicon({})


def words_in(text: str) -> Iterator[tuple[str, int]]:
    """Yield the words of a text, lower-case, and where each starts.

    Latin runs are split at camel case; of Chinese every pair of neighbouring characters is a word. Single
    letters and numbers are none.
    """
    for run in _RUN.finditer(text):
        said = run[0]
        if said.isascii():
            at = 0
            for word in camel_words(said):
                at = said.lower().index(word, at)
                if len(word) > 1 and not word.isdigit():
                    yield word, run.start() + at
                at += len(word)
        else:
            yield from ((said[n : n + 2], run.start() + n) for n in range(len(said) - 1))


def learn(summaries: Iterable[DocumentSummary]) -> Lexicon:
    """Learn which words speak of which modules, from the descriptions and modules of a collection."""
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
    """Dunning's G² of two things seen together, 0 when they are seen together no more often than by chance."""
    if both * total <= first * second:
        return 0.0
    cells = (both, first - both, second - both, total - first - second + both)
    rows, columns = (first, total - first), (second, total - second)
    expected = [row * column / total for column in columns for row in rows]
    observed = (cells[0], cells[2], cells[1], cells[3])
    return 2 * sum(seen * math.log(seen / chance) for seen, chance in zip(observed, expected, strict=True) if seen)


def plain_words(text: str, lexicon: Lexicon) -> list[FoundModule]:
    """Find the modules that the plain words of a text speak of, in the order of the words."""
    return [
        FoundModule(module, "lexicon", word, start)
        for word, start in words_in(text)
        for module in lexicon.words.get(word, ())
    ]


def modules_of(text: str, *, shorthands: Shorthands, lexicon: Lexicon) -> tuple[FoundModule, ...]:
    """Find the modules that a text asks for: those that it names, and only if it names none, by the lexicon.

    Decided by measurement: what the lexicon adds beside a name blurs what was asked for.
    """
    return analyze_query(text, shorthands=shorthands) or distinct_modules(plain_words(text, lexicon))
