"""The prompts, one file per method and language; and how a file becomes chat turns."""

import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Literal, TypedDict

Language = Literal["en", "zh"]
_TURN = re.compile(r"^--- (?P<role>system|user|assistant)\n", re.MULTILINE)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


class Turn(TypedDict):
    """One message of a chat."""

    role: str
    content: str


def language_of(question: str) -> Language:
    """Chinese as soon as a Chinese character occurs."""
    return "zh" if _CHINESE.search(question) else "en"


def turns(method: str, question: str, terms: Mapping[str, str]) -> list[Turn]:
    """Fill a method's prompt in the question's language; only the last turn takes the question."""
    *before, last = _template(method, language_of(question))
    listed = "\n".join(f"{term}: {meaning}" for term, meaning in terms.items())
    # One pass: a question that spells a placeholder out is not filled in a second time.
    fill = {"{question}": question, "{terms}": listed}
    filled = re.sub(r"\{question\}|\{terms\}", lambda found: fill[found[0]], last["content"])
    return [*before, Turn(role=last["role"], content=filled)]


@cache
def _template(method: str, language: Language) -> tuple[Turn, ...]:
    text = (resources.files(__name__) / f"{method}.{language}.md").read_text(encoding="utf-8")
    _, *parts = _TURN.split(text)
    return tuple(
        Turn(role=role, content=content.strip()) for role, content in zip(parts[::2], parts[1::2], strict=True)
    )
