"""Detect the language to answer a question in."""

import re
from typing import Final, Literal

Language = Literal["en", "zh"]

_HAN: Final = re.compile("[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LATIN_WORD: Final = re.compile("[A-Za-z]+")


def language_of(question: str) -> Language:
    """Return "zh" for a Chinese question, and "en" for any other.

    Decided: a Chinese character weighs as much as a Latin word, so a sentence keeps its language if it names
    something in the other. 请用vtkActor渲染 is Chinese; "What does 毛利 mean here?" is English. Equal weight is
    Chinese.
    """
    characters = len(_HAN.findall(question))
    return "zh" if characters and characters >= len(_LATIN_WORD.findall(question)) else "en"
