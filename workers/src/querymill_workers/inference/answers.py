"""Write answers from passages with a chat model, and judge answers with it."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict
from typing_extensions import override

from querymill_workers.inference.answer_ports import AnswerEnd, Answers, AnswerScores, Hear
from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.prompts import answer_turns, judge_turns
from querymill_workers.inference.prompts.fences import FenceFilter
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.in_context import SaidTurn
from querymill_workers.text.languages import Language

#: Token limit of a reply that judges an answer, with room for blanks, and what each sentence of the answer adds.
TOKENS_OF_JUDGEMENT = 80
TOKENS_PER_SENTENCE = 5


def _from_0_to_1(degree: float) -> float:
    if not 0 <= degree <= 1:
        raise ValueError("must be from 0 to 1")
    return degree


# Checked here and not in the schema, because some servers do not support ranges of numbers.
Degree = Annotated[float, AfterValidator(_from_0_to_1)]


# Title and docstring are part of the JSON schema that the model gets, and so of the cache key.
class AnswerScoresReply(BaseModel):
    """The reply asked for; ``unsupported`` numbers sentences of the answer."""

    model_config = ConfigDict(extra="forbid", title="Judgement")

    grounded: Degree
    relevant: Degree
    complete: Degree
    unsupported: list[int]


class ChatAnswers(Answers):
    """`Answers` by a chat model, with the prompts of this package."""

    def __init__(self, chat: ChatModel, *, passage_tokens: int, writes: bool = True) -> None:
        self._chat = chat
        self._passage_tokens = passage_tokens
        self._writes = writes

    @property
    @override
    def writes(self) -> bool:
        return self._writes

    @property
    @override
    def passage_tokens(self) -> int:
        return self._passage_tokens

    @override
    def write(
        self,
        question: str,
        passages: Sequence[str],
        *,
        language: Language,
        max_tokens: int,
        caller: Caller,
        hear: Hear,
        said: Sequence[SaidTurn] = (),
    ) -> AnswerEnd:
        turns = answer_turns(question, passages, language, said)
        filtered = FenceFilter(hear)
        written = self._chat.stream(turns, max_tokens=max_tokens, caller=caller, hear=filtered.hear)
        filtered.end()
        return written

    @override
    def judge(
        self,
        question: str,
        passages: Sequence[str],
        sentences: Sequence[str],
        *,
        language: Language,
        caller: Caller,
        said: Sequence[SaidTurn] = (),
    ) -> tuple[AnswerScores, ProviderUsage]:
        reply, usage = self._chat.structured(
            judge_turns(question, passages, sentences, language, said),
            AnswerScoresReply,
            max_tokens=TOKENS_OF_JUDGEMENT + TOKENS_PER_SENTENCE * len(sentences),
            caller=caller,
        )
        return AnswerScores(reply.grounded, reply.relevant, reply.complete, tuple(reply.unsupported)), usage
