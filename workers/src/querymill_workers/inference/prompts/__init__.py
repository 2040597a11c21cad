"""The prompts, one file per method and language; and how a file becomes chat turns."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Literal, TypedDict

from querymill_workers.inference.prompts.fences import fenced, new_fence

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
    return [*before, _filled(last, {"{question}": question, "{terms}": listed})]


def rerank_turns(question: str, passages: Sequence[str]) -> list[Turn]:
    """Fill the rerank prompt: the question, and the passages numbered from 1, all behind one new fence."""
    *before, last = _template("rerank", language_of(question))
    fence = new_fence([question, *passages])
    listed = "\n".join(fenced(fence, f"passage {number}", text) for number, text in enumerate(passages, start=1))
    ours = [_filled(turn, {"{fence}": fence}) for turn in before]
    return [
        *ours,
        _filled(last, {"{fence}": fence, "{question}": fenced(fence, "question", question), "{passages}": listed}),
    ]


def _filled(turn: Turn, fill: Mapping[str, str]) -> Turn:
    # One pass: a text that spells a placeholder out is not filled in a second time.
    places = "|".join(map(re.escape, fill))
    return Turn(role=turn["role"], content=re.sub(places, lambda found: fill[found[0]], turn["content"]))


@cache
def _template(method: str, language: Language) -> tuple[Turn, ...]:
    text = (resources.files(__name__) / f"{method}.{language}.md").read_text(encoding="utf-8")
    _, *parts = _TURN.split(text)
    return tuple(
        Turn(role=role, content=content.strip()) for role, content in zip(parts[::2], parts[1::2], strict=True)
    )
