"""The page of a job, for every kind of job and in every state."""

import json
import re
from dataclasses import replace
from typing import Any

import pytest

from querymill.gateway.console.comparing import Run, compare
from querymill.gateway.console.copying import as_curl, copies_of
from querymill.gateway.console.hits import PAGE, SHOWN_CHARS, hits_of
from querymill.gateway.console.job_page import job_values, so_far
from querymill.presenting.explain.verdict import SpeedVerdict
from querymill_shared.board import AttemptPart, Picture, Record, Step, StreamedEvent
from querymill_shared.board.attempts import encode_facts
from querymill_shared.contracts.jobs import decode_request, decode_result
from querymill_shared.contracts.why_not import Absence, Lever
from tests.fixtures.attempts import with_attempt
from tests.fixtures.console import HOSTILE, Page, rendered
from tests.fixtures.wire import GOLDEN

T0 = 1_795_000_000.0
JOB = "4f" * 16
REQUESTS = json.loads((GOLDEN / "now" / "requests.json").read_text())
RESULTS = json.loads((GOLDEN / "now" / "results.json").read_text())
#: Fields that hold texts of others.
TEXTS = frozenset(
    ("text", "content", "snippet", "title", "name", "reason", "query", "code", "description", "why", "stop")
)


def hostile(value: Any, name: str = "") -> Any:
    """Put hostile texts in place of those that others write."""
    if isinstance(value, dict):
        return {key: each if key == "vectors" else hostile(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [hostile(each, name) for each in value]
    return HOSTILE if isinstance(value, str) and name in TEXTS else value


def record(**fields: Any) -> Record:
    plain = Record(JOB, "reports", "filings", "interactive", "done", T0, T0 + 30, T0 + 2.28, "", 0)
    return replace(plain, **fields)


def step(name: str, queued: float, started: float, ended: float, *parts: AttemptPart, **fields: Any) -> Step:
    plain = Step(
        name, "done", 1, started=T0 + started, ended=T0 + ended, queued=T0 + queued, life="search@host#1",
        facts=encode_facts(None, parts),
    )  # fmt: skip
    return replace(plain, **fields)


ORIGINAL = step("original", 0, 0.02, 0.19, AttemptPart("embed", 100), AttemptPart("search", 70))
HYDE = step(
    "hyde", 0, 0.02, 2.24, AttemptPart("expand", 2_020, 400, 1), AttemptPart("embed", 60), AttemptPart("search", 140)
)


def run_of(result: Any, **asked: Any) -> Run:
    return Run(record(), result, SpeedVerdict("fast", "fast"), asked, hits_of(result, JOB))


def test_two_runs_are_compared_by_what_was_asked_and_where_each_hit_stands() -> None:
    result: Any = decode_result(json.dumps(RESULTS["reports"]))
    (hit,) = result.results[:1]
    hits = [hit.model_copy(update={"number": number, "page": number}) for number in (1, 2, 3)]
    first, second = (
        result.model_copy(update={"results": tuple(hits[place] for place in places)}) for places in ((0, 1), (1, 2))
    )
    found = compare(run_of(first, query="q", hyde=False), run_of(second, query="q", hyde=True))
    assert found.fields == (("hyde", "no", "yes"),)
    assert [(each.first and each.first.number, each.second and each.second.number) for each in found.hits] == [
        (1, None), (2, 1), (None, 2),
    ]  # fmt: skip
    assert [each.moved for each in found.hits] == [None, 1, None]
    page = rendered("compare.html", question=HOSTILE, first=run_of(first), second=run_of(second), others=[],
                    found=found, now=T0 + 9)  # fmt: skip
    assert "↑ 1" in page.text
    assert "✕ gone" in page.text
    assert "+ new" in page.text
    assert compare(run_of(first), run_of(first)).is_same


def picture(*steps: Step, asked: Any = None, **fields: Any) -> Picture:
    return Picture(record(**fields), steps, {}, {}, None, asked=asked)


def shown(found: Picture, *told: StreamedEvent, text: str | None = None, now: float = T0 + 10, **more: Any) -> Page:
    values = job_values(found, list(told), text, 0, "localhost:8080", now)
    frame = {"last_event": "1-0", "now": now, "opened": 0, "callback": None, "may_judge": False, "judged": 0} | more
    return rendered("job.html", f"/console/jobs/{JOB}", **(values | frame))


@pytest.mark.parametrize("kind", sorted(RESULTS))
def test_every_kind_of_job_has_a_page_on_which_no_text_acts(kind: str) -> None:
    text = json.dumps(hostile(RESULTS[kind]) | {"kind": kind})
    asked = decode_request(json.dumps(REQUESTS[kind])) if kind in REQUESTS else None
    page = shown(picture(ORIGINAL, HYDE, asked=asked, kind=kind), text=text, opened=1)
    assert "done" in page.text
    assert "alert(1)</script>" not in page.html
    assert "\u202e" not in page.html
    assert len(page.html) < 60_000


def test_the_verdict_is_one_sentence_and_the_rows_say_what_they_draw() -> None:
    page = shown(picture(ORIGINAL, HYDE))
    assert "slow hyde waited 1.62 s for the chat model's reply: 71 % of the time." in page.text
    assert (
        "✓ done hyde set the endlimit 0.40 s · chat model 1.62 s · embedding 60 ms · search 0.14 s · 1 call"
        in page.text
    )
    plots = [found for tag, found in page.elements if tag == "svg" and found.get("aria-hidden") != "true"]
    assert plots == []


def test_a_result_of_another_release_can_be_downloaded() -> None:
    page = shown(picture(ORIGINAL), text='{"kind": "of next year"}')
    assert "This release cannot read the result" in page.text
    assert "Its result was let go" in shown(picture(ORIGINAL)).text


def test_a_fast_job_is_called_fast() -> None:
    assert "✓ done · 0.20 s of 30 s · fast" in shown(picture(ORIGINAL, ended=T0 + 0.2)).text


def test_what_is_missing_is_a_sentence_with_its_mend() -> None:
    text = json.dumps(RESULTS["reports"] | {"complete": False, "degraded": [
        {"stage": "answer", "reason": HOSTILE, "code": "deadline"}]})  # fmt: skip
    page = shown(picture(ORIGINAL), text=text)
    assert "⚠ done, incomplete" in page.text
    assert (
        "Missing answer: not finished in 30 s. There is no answer, only hits. A deadline of 60 s may help." in page.text
    )


def test_a_quotation_is_called_one() -> None:
    answer = {
        "text": "Revenue, 2022: 40 [1]", "citations": [{"number": 1, "id": "r1"}], "language": "en", "passages": 3,
        "quoted": True,
    }  # fmt: skip
    degraded = [{"stage": "write", "reason": HOSTILE, "code": "provider_down"}]
    text = json.dumps(RESULTS["reports"] | {"answer": answer, "complete": False, "degraded": degraded})
    page = shown(picture(ORIGINAL), text=text)
    assert "Quotation" in page.text
    assert "Put together of sentences and table rows of the hits; no chat model wrote it. From 3 passages." in page.text
    assert "write: no response from the chat model. The answer is a quotation of the hits." in page.text
    refused = text.replace("provider_down", "provider_refused")
    assert "Missing write: the chat model refused" in (page := shown(picture(ORIGINAL), text=refused)).text
    assert "CHAT_MODEL, OPENAI_BASE_URL and OPENAI_API_KEY name the chat model." in page.text


def test_attempts_are_told_with_worker_and_reason() -> None:
    facts = encode_facts("limit", ())
    past = with_attempt("", 1, None, round(T0 * 1000), "w1#7", round(T0 * 1000) + 240, "failures", HOSTILE, facts)
    page = shown(picture(replace(HYDE, attempt=2, past=past)))
    assert "2 attempts" in page.text
    assert "1: failed on w1 (limit)" in page.text


def test_a_job_that_goes_on_shows_what_it_has_told() -> None:
    hits = {
        "type": "hits",
        "after_stage": "original",
        "total": 12,
        "hits": [{"key": "k", "score": 0.9, "title": HOSTILE, "page": 42, "text": f"margin {HOSTILE}"}],
    }
    parts = [{"type": "answer", "stage": "answer", "attempt": 1, "offset": place, "text": text}
             for place, text in ((0, "🙂 Gross"), (2, "Net"), (5, " margin"))]  # fmt: skip
    told = [
        StreamedEvent(JOB, f"{number}-0", 0, str(each["type"]), json.dumps(each))
        for number, each in enumerate([hits, *parts], 1)
    ]
    running = replace(HYDE, state="running", ended=None, facts="")
    page = shown(picture(ORIGINAL, running, state="running", ended=None), *told, now=T0 + 1.5)
    assert "● running · 1.50 s so far, due after 30 s" in page.text
    assert "Hits so far: 12, after original" in page.text
    assert ", page 42" in page.text
    assert 'margin "><script>' in page.text
    assert "🙂 Net margin" in page.text
    assert page.all("form", action=f"/console/jobs/{JOB}/cancel") != []
    assert so_far([]).answer == ""


@pytest.mark.parametrize(("state", "sign"), [("failed", "✕"), ("dead", "☠"), ("cancelled", "⊘"), ("queued", "○")])
def test_states_are_signs_and_words(state: Any, sign: str) -> None:
    ended = None if state == "queued" else T0 + 1
    page = shown(picture(replace(HYDE, state="waiting", attempt=0), state=state, ended=ended, reason=HOSTILE))
    assert f"{sign} {state}" in page.text
    assert bool(page.all("button", value="replay")) == (state == "dead")
    assert ("⟨U+202E⟩gnp.exe" in page.text) == (state in ("failed", "dead"))


def test_many_steps_of_one_name_are_one_row() -> None:
    batches = [step(f"batch-{number:02}", 0, 0.1, 0.2, AttemptPart("judge", 90)) for number in range(1, 21)]
    page = shown(picture(*batches, ended=T0 + 0.4))
    assert "batch × 20" in page.text
    assert "The 20 steps" in page.text


def test_a_result_of_many_hits_comes_in_pages_and_long_passages_on_demand() -> None:
    (hit,) = RESULTS["reports"]["results"][:1]
    many = [hit | {"text": "x" * 4_000} for _ in range(200)]
    text = json.dumps(RESULTS["reports"] | {"results": many})
    result = decode_result(text)
    assert [view.number for view in hits_of(result, JOB, start=190)] == list(range(191, 201))
    page = shown(picture(ORIGINAL), text=text)
    assert len([found for tag, found in page.elements if str(found.get("id", "")).startswith("hit-")]) == PAGE
    assert len(page.html) < 60_000
    assert "x" * (SHOWN_CHARS + 1) not in page.html
    assert "x" * 4_000 in shown(picture(ORIGINAL), text=text, opened=3).html


def test_a_folded_passage_shows_the_words_of_the_question_wherever_they_stand() -> None:
    (hit,) = RESULTS["reports"]["results"][:1]
    text = f"{'Rates were as before. ' * 60}The margin was 9.1 %."
    result = decode_result(
        json.dumps(RESULTS["reports"] | {"query": "which margin?", "results": [hit | {"text": text}]})
    )
    (view,) = hits_of(result, JOB)
    assert view.folded.text.startswith("… The margin was 9.1 %.")
    assert [view.folded.text[start:end] for start, end in view.folded.marks] == ["margin"]
    assert [view.whole.text[start:end] for start, end in view.whole.marks] == ["margin"]


def test_what_is_copied_can_harm_no_shell() -> None:
    asked = decode_request(json.dumps(REQUESTS["reports"] | {"query": f"{HOSTILE} $(rm -rf /) `id` JSON\nJSON\n"}))
    curl = as_curl(asked, "localhost:8080")
    body = re.search(r"<<'JSON'\n(.*)\nJSON$", curl, re.DOTALL)
    assert body is not None
    assert json.loads(body[1])["query"] == asked.query  # type: ignore[union-attr]  # a search has one
    assert curl.isascii()
    assert "\nJSON\n" not in body[1]
    assert {name for name, _ in copies_of(picture(asked=asked), None, "")} >= {"curl", "Python", "TypeScript"}


@pytest.mark.parametrize("kind", ["reports", "messages", "modules", "files"])
def test_the_gates_of_each_kind_are_drawn_with_their_numbers_and_the_lever(kind: str) -> None:
    lever = Lever(fields={"candidates": 14}, place=9)
    missed = Absence.at("ab12/page/3", ("collection", "candidates", "top_n"), "candidates", HOSTILE, lever=lever)
    text = json.dumps(RESULTS[kind] | {"why_not": missed.model_dump(mode="json")})
    page = shown(picture(ORIGINAL, asked=decode_request(json.dumps(REQUESTS[kind]))), text=text)
    assert "Why not ab12/page/3?" in page.text
    assert "candidates=14 brings it in, to place 9" in page.text
    assert [found["class"] for found in page.all("li") if found.get("class") in ("passed", "failed", "unreached")] == [
        "passed", "failed", "unreached",
    ]  # fmt: skip
    assert page.all("form", id="why-not") != []
