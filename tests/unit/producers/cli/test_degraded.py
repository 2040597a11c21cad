"""What a result lacks, on a terminal."""

import io

from querymill.cli.screen import show_degraded
from querymill.cli.terminal import Console
from querymill_shared.contracts.results import Degradation


def printed(part: Degradation) -> str:
    screen = io.StringIO()
    show_degraded(Console(file=screen, width=200), [part])
    return screen.getvalue()


def test_a_part_that_the_deadline_cut_says_what_would_help() -> None:
    cut = Degradation(stage="answer", reason="chat model: the reply was cut by the deadline", code="deadline")
    assert printed(cut).strip().endswith("the reply was cut by the deadline; a longer --deadline may help")


def test_a_quotation_that_stands_in_says_where_the_chat_model_is_named() -> None:
    refused = Degradation(stage="write", reason="the answer is a quotation: HTTP 401", code="provider_refused")
    named = "CHAT_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY name the chat model."
    assert printed(refused).strip().endswith(f"HTTP 401. The workers' {named}")


def test_other_parts_have_their_reason_alone() -> None:
    assert printed(Degradation(stage="judge", reason="there is no answer to judge")).strip().endswith("answer to judge")
