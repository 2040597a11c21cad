"""The prompts, one file per method and language, and the functions that fill them."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import TypedDict

from querymill_workers.inference.prompts.fences import fenced, new_fence
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.languages import Language, language_of

#: What stands above an earlier turn of the chat in a prompt.
_EARLIER = {"user": "earlier question", "assistant": "earlier answer"}
_TURN = re.compile(r"^--- (?P<role>system|user|assistant)\n", re.MULTILINE)


class ChatTurn(TypedDict):
    """One message of a chat."""

    role: str
    content: str


def turns(method: str, question: str, terms: Mapping[str, str]) -> list[ChatTurn]:
    """Fill a method's prompt in the question's language. Only the last turn contains the question."""
    *before, last = _template(method, language_of(question))
    glossary = "\n".join(f"{term}: {meaning}" for term, meaning in terms.items())
    return [*before, _filled(last, {"{question}": question, "{terms}": glossary})]


def standalone_turns(question: str, said: Sequence[SaidTurn]) -> list[ChatTurn]:
    """Fill the prompt that rewrites a question by what was said before it, the oldest turn first."""
    return _fenced_turns("standalone", language_of(question), question, said)


def rerank_turns(question: str, passages: Sequence[str]) -> list[ChatTurn]:
    """Fill the rerank prompt: the question and the passages, numbered from 1, within one new fence."""
    return _fenced_turns("rerank", language_of(question), question, passage=passages)


def answer_turns(
    question: str, passages: Sequence[str], language: Language, said: Sequence[SaidTurn] = ()
) -> list[ChatTurn]:
    """Fill the prompt for answers: the passages, numbered from 1, and the question, within one new fence.

    ``said`` is what the question refers back to, the oldest first.
    """
    return _fenced_turns("answer", language, question, said, passage=passages)


def judge_turns(
    question: str, passages: Sequence[str], sentences: Sequence[str], language: Language, said: Sequence[SaidTurn] = ()
) -> list[ChatTurn]:
    """Fill the prompt that judges an answer: question, passages and sentences of the answer, numbered from 1."""
    return _fenced_turns("judge", language, question, said, passage=passages, sentence=sentences)


def _fenced_turns(
    method: str, language: Language, question: str, said: Sequence[SaidTurn] = (), **numbered: Sequence[str]
) -> list[ChatTurn]:
    """Fill a prompt whose last turn takes a question and lists of texts ({passages} for ``passage``), all fenced."""
    *before, last = _template(method, language)
    texts_of_others = (text for texts in numbered.values() for text in texts)
    fence = new_fence([question, *(turn.text for turn in said), *texts_of_others])
    asked = [fenced(fence, _EARLIER[turn.role], turn.text) for turn in said] + [fenced(fence, "question", question)]
    fill = {"{fence}": fence, "{question}": "\n".join(asked)}
    for name, texts in numbered.items():
        fill[f"{{{name}s}}"] = "\n".join(fenced(fence, f"{name} {n}", text) for n, text in enumerate(texts, start=1))
    return [*(_filled(turn, {"{fence}": fence}) for turn in before), _filled(last, fill)]


def _filled(turn: ChatTurn, fill: Mapping[str, str]) -> ChatTurn:
    # One pass, so that a placeholder within an inserted text is not filled.
    places = "|".join(map(re.escape, fill))
    return ChatTurn(role=turn["role"], content=re.sub(places, lambda found: fill[found[0]], turn["content"]))


@cache
def _template(method: str, language: Language) -> tuple[ChatTurn, ...]:
    text = (resources.files(__name__) / f"{method}.{language}.md").read_text(encoding="utf-8")
    _, *parts = _TURN.split(text)
    return tuple(
        ChatTurn(role=role, content=content.strip()) for role, content in zip(parts[::2], parts[1::2], strict=True)
    )
