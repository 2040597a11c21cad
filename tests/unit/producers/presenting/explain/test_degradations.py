"""What an answer lacks: a test for each sentence."""

from typing import Any

import pytest

from querymill.presenting.explain.degradations import missing
from querymill_shared.contracts.results import Degradation

BRANCHES = ("original", "hyde", "synonym", "variant")


def said(stage: str, code: Any, *, reason: str = "why", **more: Any) -> list[str]:
    found = missing([Degradation(stage=stage, reason=reason, code=code)], **more)
    return [text for part in found for text in (part.sentence, part.lost, part.help)]


@pytest.mark.parametrize(
    ("stage", "code", "expected"),
    [
        ("variant", "limit", [
            "variant: the limit of the chat model left no call before the deadline.",
            "Hits are from 3 of 4 branches.", "Ask again, or raise the limit."]),
        ("variant", "deadline", [
            "variant: not finished in 3 s.", "Hits are from 3 of 4 branches.", "A deadline of 6 s may help."]),
        ("hyde", "provider_down", [
            "hyde: no response from the chat model.", "Hits are from 3 of 4 branches.",
            "Ask again when the provider is back."]),
        ("hyde", "provider_refused", [
            "hyde: the chat model refused, or replied with nothing of use.", "Hits are from 3 of 4 branches.", ""]),
        ("embed", "provider_down", [
            "embed: no response from the embedding model.", "Found by words alone.",
            "Ask again when the provider is back."]),
        ("embed", "slow", [
            "embed: the embedding model took longer than the search waits for it.", "Found by words alone.",
            "Ask again: what comes late is kept. If it stays, the model needs more room, not the job more time."]),
        ("embed", "pending", [
            "embed: something has to be finished first, such as vectors of new documents.",
            "What has no vector yet was searched by words.", "Ask again in a moment."]),
        ("answer", "cut", ["answer: shortened to fit a limit.", "", ""]),
        ("answer", "lost", [
            "answer: the workers that ran it were lost.", "There is no answer, only hits.", "Ask again."]),
        ("judge", "bug", [
            "judge: an internal error.", "The answer was not judged.",
            "Ask again; if it stays, look at the log of the worker."]),
        ("context", "store_down", [
            "context: a store was away.", "There is no joined text.", "Ask again when the store is back."]),
        ("rerank-02", "provider_refused", [
            "rerank: the judge refused, or replied with nothing of use.",
            "The hits are in the order of the search.", ""]),
    ],
)  # fmt: skip
def test_each_code_has_its_sentence_what_was_lost_and_what_would_help(
    stage: str, code: Any, expected: list[str]
) -> None:
    assert said(stage, code, branches=BRANCHES, deadline_s=3) == expected


def test_a_job_without_a_deadline_is_told_of_none() -> None:
    assert said("hyde", "deadline") == ["hyde: not finished before the deadline.", "", ""]


def test_without_a_code_the_reason_is_all_there_is() -> None:
    assert said("hyde", None, reason="chat model: HTTP 503") == ["hyde: chat model: HTTP 503.", "", ""]


def test_no_reason_is_read_where_there_is_a_code() -> None:
    texts = [said("hyde", "limit", reason=reason) for reason in ("", "HTTP 500", "cut by the deadline")]
    assert texts[0] == texts[1] == texts[2]


def test_parts_of_one_sort_that_lack_the_same_are_said_once() -> None:
    batches = [Degradation(stage=f"rerank-{number:02}", reason="x", code="deadline") for number in range(3)]
    (part,) = missing(batches, deadline_s=2)
    assert (part.count, part.sentence) == (3, "rerank × 3: not finished in 2 s.")


def test_branches_that_are_gone_are_counted_together() -> None:
    gone = [Degradation(stage=stage, reason="x", code="provider_down") for stage in ("hyde", "variant")]
    assert {part.lost for part in missing(gone, branches=BRANCHES)} == {"Hits are from 2 of 4 branches."}


def test_what_does_not_fit_is_named_by_its_reason() -> None:
    reasons = ["no report of Nordhav for 2019", "no report of Nordhav for 2020"]
    parts = missing([Degradation(stage="route", reason=reason, code="invalid") for reason in reasons])
    assert [part.sentence for part in parts] == [f"route: {reason}." for reason in reasons]
