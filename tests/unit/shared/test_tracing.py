"""What a process passes on of a trace, and what it asks of its environment."""

import sys

import pytest

from querymill_shared import tracing
from querymill_shared.tracing import current_traceparent, is_wanted, part, span, trace_id_of, traceparent_of

GIVEN = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@pytest.mark.parametrize(
    "written",
    ["", "x", GIVEN.upper(),
     GIVEN.replace("00-", "ff-", 1), GIVEN.replace("0af7651916cd43dd8448eb211c80319c", "0" * 32),
     GIVEN.replace("b7ad6b7169203331", "0" * 16), GIVEN[:-1], GIVEN + "\n00", GIVEN + "-" + "x" * 200],
)  # fmt: skip
def test_what_is_no_traceparent_is_not_carried(written: str) -> None:
    assert traceparent_of(written) == ""


def test_a_later_version_of_a_traceparent_is_carried() -> None:
    assert traceparent_of(f" {GIVEN} ") == GIVEN
    assert traceparent_of(GIVEN.replace("00-", "01-", 1) + "-more") != ""


def test_a_process_without_an_exporter_passes_on_what_it_was_given() -> None:
    assert current_traceparent() == ""
    with span("a request", parent=GIVEN), part("a statement"), span("another"):
        assert current_traceparent() == GIVEN
        assert trace_id_of(current_traceparent()) == "0af7651916cd43dd8448eb211c80319c"
    assert current_traceparent() == ""


@pytest.mark.parametrize(
    ("environ", "wanted"),
    [
        ({}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318"}, True),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://c:4318/v1/traces"}, True),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_SDK_DISABLED": "TRUE"}, False),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_TRACES_EXPORTER": "none"}, False),
    ],
)
def test_only_an_address_that_is_not_switched_off_begins_tracing(environ: dict[str, str], wanted: bool) -> None:
    assert is_wanted(environ) is wanted


def test_an_address_without_the_packages_is_an_error_that_names_both(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318")
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.resources", None)
    with pytest.raises(tracing.TracingNotInstalled, match=r"OTEL_EXPORTER_OTLP_ENDPOINT.*querymill-shared\[tracing\]"):
        tracing.start("a service")
