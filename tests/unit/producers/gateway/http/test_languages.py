"""The locale of a request: by its ``Accept-Language``, as browsers and libraries send it."""

import pytest
from starlette.requests import Request

from querymill.gateway.http.languages import in_callers_locale, locale_of
from querymill.presenting.request_fields import filled_in
from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.files.search import FileSearch


@pytest.mark.parametrize(
    ("header", "locale"),
    [
        ("", None), ("*", None), ("en-GB", "en-GB"), ("de", "de"), ("en-US,en;q=0.5", "en-US"),
        ("en-GB,en-US;q=0.9,en;q=0.8", "en-GB"), ("en, en-GB;q=0.9", "en-GB"), ("de;q=0.5, fr-CH", "fr-CH"),
        ("fr, en-US;q=0.9", "fr"), ("fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5", "fr-CH"),
        ("*;q=1, en-GB;q=0.1", "en-GB"), ("en-US;q=0, en-GB;q=0.1", "en-GB"), ("en-US;q=0.0", None),
        ("zh-Hans-CN,zh;q=0.9", "zh-Hans-CN"), ("es-419", "es-419"), ("en_GB", "en_GB"), ("EN-gb;Q=0.3", "EN-gb"),
        (" da ; q=0.8 , en-gb ;q=0.9\t", "en-gb"), ("en-GB;q=1.000", "en-GB"), ("en-GB;q=.5, de", "de"),
        ("de;q=2, en-GB", "en-GB"), ("en-GB;q=high", None), ("en-GB;level=1, de;q=0.1", "de"),
        (",,;q=1,-,en--GB", None),
        ("x-klingon, i-mingo, de", "de"), ("🙂, fr", "fr"), ("' OR 1=1 --", None), ("a" * 9_000, None),
        (",".join(["x"] * 9_000) + ",de", None),
    ],
)  # fmt: skip
def test_the_locale_is_that_of_the_language_that_is_preferred(header: str, locale: str | None) -> None:
    assert locale_of(header) == locale
    if locale is not None:
        assert ConversationSearch(collection="a", query="b", locale=locale).locale == locale


def test_a_request_gets_what_it_leaves() -> None:
    asked = ConversationSearch(collection="a", query="on 3/4")
    own = {"locale": "en-GB", "time_zone": "Europe/London"}
    assert filled_in(asked, own) == ConversationSearch(collection="a", query="on 3/4", **own)  # type: ignore[arg-type]
    named = ConversationSearch(collection="a", query="on 3/4", locale="de", time_zone="UTC")
    assert filled_in(named, own) is named
    emptied = ConversationSearch(collection="a", query="on 3/4", locale=None, time_zone="UTC")
    assert filled_in(emptied, own).locale == "en-GB"
    assert filled_in(asked, {"locale": None}) is asked
    files = FileSearch(collection="a", query="on 3/4")
    assert filled_in(files, own) is files


@pytest.mark.parametrize(
    ("sent", "locale"), [([b"en-GB"], "en-GB"), ([b"*", b"de;q=0.3"], "de"), ([], None), ([b"\xff"], None)]
)
def test_a_search_without_a_locale_gets_that_of_its_headers(sent: list[bytes], locale: str | None) -> None:
    request = Request({"type": "http", "headers": [(b"accept-language", each) for each in sent]})
    assert in_callers_locale(request, ConversationSearch(collection="a", query="on 3/4")).locale == locale  # type: ignore[union-attr]
