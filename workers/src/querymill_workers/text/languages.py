"""Detect the language of a text."""

import re
from typing import Final, Literal

Language = Literal["en", "zh"]

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LATIN_WORD: Final = re.compile("[A-Za-z]+")


def is_han(text: str) -> bool:
    """Return whether a text has a Chinese character."""
    return _HAN.search(text) is not None


def language_of(text: str) -> Language:
    """Return "zh" for a Chinese text, and "en" for any other.

    Decided: a Chinese character weighs as much as a Latin word, so a sentence keeps its language if it names
    something in the other. 请用vtkActor渲染 is Chinese; "What does 毛利 mean here?" is English. Equal weight is
    Chinese.
    """
    characters = len(_HAN.findall(text))
    return "zh" if characters and characters >= len(_LATIN_WORD.findall(text)) else "en"
