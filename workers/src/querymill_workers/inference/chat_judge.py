"""Judging passages by a chat model: a list at once, each by a number of ours."""

from collections.abc import Mapping

from pydantic import BaseModel, ConfigDict

from querymill_workers.inference.chat import ChatModel
from querymill_workers.inference.prompts import rerank_turns
from querymill_workers.jobs.deadline import Caller
from querymill_workers.jobs.usage import Usage
from querymill_workers.text.judgements import accepted
from querymill_workers.text.tokens import cut

#: What the JSON of one judgement takes, with room for blanks; and what stands around them.
TOKENS_PER_JUDGEMENT = 30
TOKENS_AROUND = 40


class Judgement(BaseModel):
    """What is said of one passage. Its range is checked judgement by judgement, not reply by reply."""

    model_config = ConfigDict(extra="forbid")

    id: int
    relevance: float


class Judgements(BaseModel):
    """The reply asked for."""

    model_config = ConfigDict(extra="forbid")

    judgements: list[Judgement]


class ChatJudge:
    """`Judge` by a chat model and our prompt; ``passage_tokens`` is what the passages of a call may have together."""

    def __init__(self, chat: ChatModel, *, passage_tokens: int) -> None:
        self._chat = chat
        self._passage_tokens = passage_tokens

    def judge(self, query: str, passages: Mapping[str, str], *, caller: Caller) -> tuple[Mapping[str, float], Usage]:
        """See `Judge.judge`. The caller's ids never reach the model: they could be words, too."""
        ids = {str(number): hit_id for number, hit_id in enumerate(passages, start=1)}
        share = self._passage_tokens // len(passages)
        shown = [cut(text, max_tokens=share) for text in passages.values()]
        reply, usage = self._chat.structured(
            rerank_turns(cut(query, max_tokens=share), shown),
            Judgements,
            most_tokens=TOKENS_AROUND + TOKENS_PER_JUDGEMENT * len(shown),
            caller=caller,
        )
        said = ((str(judgement.id), judgement.relevance) for judgement in reply.judgements)
        return {ids[number]: relevance for number, relevance in accepted(said, known=ids).items()}, usage
