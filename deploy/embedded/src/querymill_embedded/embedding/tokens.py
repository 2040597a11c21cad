"""SentencePiece's unigram model (Kudo, 2018): of all ways to cut a text into known pieces, the most probable one."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from querymill_embedded.embedding.weights import TokenVocabulary

#: Stands for a blank, and so begins each word. No piece has it elsewhere, so each word is cut by itself.
_BLANK: Final = "\u2581"
_WORD: Final = re.compile(f"{_BLANK}[^{_BLANK}]*")
_BLANKS: Final = re.compile(" {2,}")
#: How much less probable than the rarest piece a sign is that no piece has.
_UNKNOWN_PENALTY: Final = 10.0
#: Words whose pieces are remembered: a page repeats most of its own.
_REMEMBERED: Final = 20_000


class Tokenizer:
    """Cuts texts into tokens. For several threads at once."""

    def __init__(self, vocabulary: TokenVocabulary) -> None:
        scores = vocabulary.scores.tolist()
        self._known = {piece: (id_, scores[id_]) for id_, piece in enumerate(vocabulary.pieces)}
        self._known.pop(vocabulary.pieces[vocabulary.unknown], None)
        self._longest = max(map(len, self._known))
        self._unknown = (vocabulary.unknown, min(scores) - _UNKNOWN_PENALTY)
        self._replaced = vocabulary.replaced
        self._pieces = lru_cache(_REMEMBERED)(self._cut)

    def tokens(self, text: str) -> list[int]:
        """Return the ids of the pieces of a text, without those that begin and end it."""
        written = _BLANKS.sub(" ", text.translate(self._replaced)).replace(" ", _BLANK)
        if not written.startswith(_BLANK):
            written = _BLANK + written
        return [id_ for word in _WORD.findall(written) for id_ in self._pieces(word)]

    def _cut(self, word: str) -> Sequence[int]:
        """Cut a word: Viterbi's algorithm over the places where a piece may end."""
        best: list[tuple[float, int, int]] = [(0.0, 0, 0)] + [(float("-inf"), 0, 0)] * len(word)
        for start in range(len(word)):
            until = best[start][0]
            for end in range(start + 1, min(start + self._longest, len(word)) + 1):
                found = self._known.get(word[start:end])
                if found is None and end == start + 1:
                    found = self._unknown
                if found is not None and until + found[1] > best[end][0]:
                    best[end] = (until + found[1], found[0], start)
        ids: list[int] = []
        end = len(word)
        while end:
            _, id_, end = best[end]
            ids.append(id_)
        return tuple(reversed(ids))
