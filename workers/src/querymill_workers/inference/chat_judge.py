"""Judge the relevance of passages with a chat model, a list of numbered passages per call."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict
from typing_extensions import override

from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.ports import Judge
from querymill_workers.inference.prompts import rerank_turns
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.text.judgements import accepted
from querymill_workers.text.tokens import cut

#: Token limit of one judgement as JSON, with room for blanks, and of the JSON around all of them.
TOKENS_PER_JUDGEMENT = 30
TOKENS_AROUND = 40


# Names and docstrings of these two are part of the JSON schema that the model gets, and so of the cache key.
class PassageJudgement(BaseModel):
    """What is said of one passage. Its range is checked judgement by judgement, not reply by reply."""

    model_config = ConfigDict(extra="forbid")

    id: int
    relevance: float


class Judgements(BaseModel):
    """The reply asked for."""

    model_config = ConfigDict(extra="forbid")

    judgements: list[PassageJudgement]


class ChatJudge(Judge):
    """`Judge` by a chat model. The passages of one call are cut to ``passage_tokens`` tokens in total.

    It ``writes`` answers or not: one that is too small for that is too small to judge unasked.
    """

    def __init__(self, chat: ChatModel, *, passage_tokens: int, writes: bool = True) -> None:
        self._chat = chat
        self._passage_tokens = passage_tokens
        self._writes = writes

    @property
    @override
    def is_configured(self) -> bool:
        return self._writes

    @override
    def judge(
        self, query: str, passages: Mapping[str, str], *, caller: Caller
    ) -> tuple[Mapping[str, float], ProviderUsage]:
        # The model sees numbers, not the caller's ids, because an id could be a word.
        ids = {str(number): hit_id for number, hit_id in enumerate(passages, start=1)}
        share = self._passage_tokens // len(passages)
        shown = [cut(text, max_tokens=share) for text in passages.values()]
        reply, usage = self._chat.structured(
            rerank_turns(cut(query, max_tokens=share), shown),
            Judgements,
            max_tokens=TOKENS_AROUND + TOKENS_PER_JUDGEMENT * len(shown),
            caller=caller,
        )
        judged = ((str(judgement.id), judgement.relevance) for judgement in reply.judgements)
        return {ids[number]: relevance for number, relevance in accepted(judged, known=ids).items()}, usage
