"""Why no answer was written, and what helps."""

import asyncio
from typing import Any

import pytest

from querymill.agents.answering import NoAnswer, end_of
from querymill_shared.contracts.answer import AnswerResult
from querymill_shared.contracts.results import Degradation


class EndedJob:
    """A job whose answer is missing for a reason."""

    id = "a" * 32

    def __init__(self, *degraded: Degradation) -> None:
        self._degraded = degraded

    async def result(self, timeout: float | None = None) -> AnswerResult:
        return AnswerResult(
            job_id=self.id,
            query="q",
            collection="c",
            results=(),
            total=0,
            complete=False,
            stages=(),
            timing={},
            degraded=self._degraded,
        )


def remedy_for(*degraded: Degradation) -> str:
    job: Any = EndedJob(*degraded)
    with pytest.raises(NoAnswer) as raised:
        asyncio.run(end_of(job))
    return raised.value.remedy


def test_a_reply_that_the_deadline_cut_blames_no_setting_that_is_right() -> None:
    cut = Degradation(stage="answer", reason="chat model: the reply was cut by the deadline", code="deadline")
    assert remedy_for(cut).startswith("It had 60 s: a faster CHAT_MODEL helps")


def test_a_model_that_refuses_is_looked_for_in_the_settings() -> None:
    refused = Degradation(stage="answer", reason="the chat model refused (401)", code="provider_refused")
    assert "name the chat model" in remedy_for(refused)
