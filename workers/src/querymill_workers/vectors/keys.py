"""Keys of passages: a passage that keeps its key keeps its vectors."""

import hashlib
from collections import Counter
from collections.abc import Sequence


def keys_of(texts: Sequence[str]) -> list[str]:
    """Return a key for each embedded text of a document: a hash of it and of the number of equal texts before it.

    So an unchanged text keeps its key wherever it moves in its document.
    """
    before: Counter[str] = Counter()
    keys = []
    for text in texts:
        keys.append(hashlib.sha256(f"{before[text]}\n{text}".encode()).hexdigest())
        before[text] += 1
    return keys
