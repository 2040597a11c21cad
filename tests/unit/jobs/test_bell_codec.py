import json
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from querymill_shared.queues import Queue, task_of
from querymill_workers.jobs.bell_codec import MAX_BELL_BYTES, NoBell, Rung, element_of, heard
from tests.fakes.bells import JOB_ID, NO_BELLS, rung

SEARCH = task_of(Queue.SEARCH)


def written(message: object) -> bytes:
    return json.dumps(message).encode()


def test_a_bell_says_a_job_id_and_a_step() -> None:
    message = rung(step="search-1-words")
    assert heard(written(message), SEARCH) == Rung(message["headers"]["id"], JOB_ID, "search-1-words")


def test_a_bell_written_anew_is_the_same_bell() -> None:
    bell = Rung("message", JOB_ID, "original")
    assert heard(element_of(bell, "search", SEARCH), SEARCH) == bell


def test_what_a_bell_says_besides_goes_no_further() -> None:
    message = rung()
    message["headers"] |= {"stamped_headers": 7, "callbacks": [{"task": "x"}], "traceparent": "of a newer release"}
    bell = heard(written(message), SEARCH)
    assert isinstance(bell, Rung)
    anew = json.loads(element_of(bell, "search", SEARCH))
    assert anew["headers"].keys() == {"lang", "task", "id"}


@pytest.mark.parametrize("element", NO_BELLS.values(), ids=NO_BELLS.keys())
def test_everything_else_is_no_bell(element: bytes) -> None:
    assert isinstance(heard(element, SEARCH), NoBell)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=12), inner, max_size=4),
    max_leaves=8,
)
PATHS = [("body",), ("content-type",), ("content-encoding",), ("headers",), ("properties",)] + [
    (outer, inner) for outer in ("headers", "properties") for inner in rung()[outer]
]


@st.composite
def spoilt(draw: st.DrawFn) -> bytes:
    """A bell in which one or two values are replaced by anything."""
    message: dict[str, Any] = rung()
    for path in draw(st.lists(st.sampled_from(PATHS), min_size=1, max_size=2)):
        inner: Any = message if len(path) == 1 else message[path[0]]
        if isinstance(inner, dict):
            inner[path[-1]] = draw(JSON)
    return written(message)


@given(st.binary(max_size=2 * MAX_BELL_BYTES) | st.text().map(lambda text: text.encode("utf-8", "replace")))
@example(b"[" * MAX_BELL_BYTES)
def test_no_bytes_raise(element: bytes) -> None:
    assert isinstance(heard(element, SEARCH), NoBell)


@given(JSON.map(written) | spoilt())
def test_no_message_raises_and_only_a_bell_is_written_anew(element: bytes) -> None:
    bell = heard(element, SEARCH)
    if isinstance(bell, Rung):
        assert heard(element_of(bell, "search", SEARCH), SEARCH) == bell
        assert (bell.job_id, bell.step) == (JOB_ID, "original")
