"""Words that a native technical writer would not use. What the sources are rid of does not come back."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("shared", "producers", "workers", "deploy")
#: Applied migrations never change, and the prompts' text is a cache key.
LEFT_OUT = {"migrations", "prompts", "__pycache__", "node_modules"}
BANNED = re.compile(
    r"\b(anew|amid|whoever|be had|in vain|for want of|taken away|taken in)\b"
    r"|\bfor one in\b"
    r"|^(MOST|LONGEST|LARGEST)_\w+",
    re.MULTILINE,
)


def texts() -> Iterator[Path]:
    yield from ROOT.glob("*.md")
    for source in SOURCES:
        for path in (ROOT / source).rglob("*"):
            if path.suffix in {".py", ".md", ".sql", ".lua", ".ts"} and not LEFT_OUT.intersection(path.parts):
                yield path


def test_no_banned_word_is_in_the_sources() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{text[: match.start()].count(chr(10)) + 1}: {match[0]}"
        for path in texts()
        for text in [path.read_text(encoding="utf-8")]
        for match in BANNED.finditer(text)
    ]
    assert found == []


@pytest.mark.parametrize("text", ["made anew", "for one in rows", "MOST_ROWS = 3", "whoever asks"])
def test_the_words_are_recognised(text: str) -> None:
    assert BANNED.search(text)


@pytest.mark.parametrize("text", ["renewed", "for phone in rows", "    MOST = 3", "the most rows"])
def test_other_words_are_not(text: str) -> None:
    assert not BANNED.search(text)
