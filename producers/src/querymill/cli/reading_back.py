"""Reading back: a message with what was said around it, a page with a passage marked, and documents since a day."""

import json
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from rich.text import Text

from querymill.cli.exits import WrongUse
from querymill.cli.terminal import Console, echo
from querymill.presenting.hit import written_in
from querymill_shared.contracts.filters import RESERVED, Retriever
from querymill_shared.contracts.sessions import place_in_file

#: No message of a session has a longer number.
_NUMBER_DIGITS: Final = 9
_SPAN: Final = re.compile(r"(\d{1,5})\s*(h|d|w)")
_HOURS: Final = {"h": 1, "d": 24, "w": 24 * 7}


def since(written: str, retriever: Retriever, now: datetime) -> dict[str, Any]:
    """Return the condition on a kind's time that ``--since`` means: a day, a time, or a span such as 24h, 7d, 2w.

    Raises:
        WrongUse: It is none of these, or the kind has no time.
    """
    field = next((name for name, type_ in RESERVED[retriever].items() if type_ in ("time", "date")), None)
    if field is None:
        raise WrongUse(f"--since: {retriever} have no time")
    if match := _SPAN.fullmatch(written.strip()):
        moment = now - timedelta(hours=int(match[1]) * _HOURS[match[2]])
    else:
        try:
            moment = datetime.fromisoformat(written)
        except ValueError as error:
            raise WrongUse(f"--since: {written}: must be a day, a time, or a span such as 24h, 7d or 2w") from error
    is_day = RESERVED[retriever][field] == "date"
    moment = moment.replace(tzinfo=moment.tzinfo or UTC)
    return {field: {"from": moment.date().isoformat() if is_day else moment.isoformat()}}


def place_of_message(session: Mapping[str, Any], message: str) -> int:
    """Return the place from 0 of a message, named by its id or its number from 1.

    Raises:
        WrongUse: There is none.
    """
    messages = session["messages"]
    for place, each in enumerate(messages):
        if each.get("message_id") == message:
            return place
    number = message.removeprefix("#")
    if number.isdecimal() and len(number) <= _NUMBER_DIGITS and 1 <= int(number) <= len(messages):
        return int(number) - 1
    raise WrongUse(f"--around: {message}: no message of {session['session_id']} has this id or number")


def around(session: Mapping[str, Any], message: str, context: int) -> dict[str, Any]:
    """Return a session with a few messages before and after one of them, each with its number from 1."""
    place = place_of_message(session, message)
    first = max(place - context, 0)
    shown = [
        {"number": number, "is_asked": number == place + 1, **each}
        for number, each in enumerate(session["messages"][first : place + context + 1], start=first + 1)
    ]
    return {**session, "messages": shown, "total": len(session["messages"])}


def print_around(console: Console, shown: Mapping[str, Any]) -> None:
    """Print messages with their numbers, times and places in their file; the one that was asked for stands out."""
    console.print(Text(f"{shown.get('name') or shown['session_id']} · {shown['total']} messages", "bold"))
    head = {name: value for name, value in shown.items() if name != "messages"}
    for message in shown["messages"]:
        place = written_in(*place_in_file({**head, **message}))
        said = (f"{message['number']}", message.get("role"), message.get("created_at"), place)
        line = " · ".join(part for part in said if part)
        console.print(Text(line, "bold yellow" if message["is_asked"] else "dim"), soft_wrap=True)
        console.print(Text(message["text"]), soft_wrap=True)


def page(report: Mapping[str, Any], number: int, passage: str | None) -> dict[str, Any]:
    """Return a page of a report, with the places of a passage in its text; white space may differ.

    Raises:
        WrongUse: There is no such page, or the passage is not on it.
    """
    text = next((page["text"] for page in report["pages"] if page["page"] == number), None)
    if text is None:
        raise WrongUse(f"--page: {number}: {report['sha1']} has no such page")
    marks = places_of(text, passage) if passage else []
    if passage and not marks:
        raise WrongUse(f"--passage: not on page {number}")
    kept = {name: report.get(name) for name in ("title", "company", "period", "source")}
    label = (report.get("page_labels") or {}).get(str(number))
    return {"id": report["sha1"], **kept, "page": number, "label": label, "text": text, "marks": marks}


def places_of(text: str, passage: str) -> list[tuple[int, int]]:
    """Return the (start, end) of a passage in a text wherever its words follow each other, in any case."""
    words = passage.split()
    if not words:
        return []
    pattern = re.compile(r"\s+".join(map(re.escape, words)), re.IGNORECASE)
    return [match.span() for match in pattern.finditer(text)]


def print_page(console: Console, shown: Mapping[str, Any]) -> None:
    """Print a page, the passage marked."""
    label = f" (“{shown['label']}”)" if shown["label"] else ""
    said = (shown["title"], shown["company"], shown["period"], f"page {shown['page']}{label}", shown["source"])
    console.print(Text(" · ".join(part for part in said if part), "bold"), soft_wrap=True)
    text = Text(shown["text"])
    for start, end in shown["marks"]:
        text.stylize("bold reverse", start, end)
    console.print(text, soft_wrap=True)


def print_part(
    retriever: Retriever,
    document: Mapping[str, Any],
    *,
    message: str | None,
    context: int,
    page_number: int | None,
    passage: str | None,
    as_json: bool,
) -> None:
    """Print a part of a document.

    Raises:
        WrongUse: The kind has no such parts.
    """
    if message is not None and "messages" in document:
        shown, show = around(document, message, context), print_around
    elif page_number is not None and "pages" in document:
        shown, show = page(document, page_number, passage), print_page
    else:
        raise WrongUse(f"--around is for messages and conversations, --page for reports, neither for {retriever}")
    if as_json:
        echo(json.dumps(shown, ensure_ascii=False))
    else:
        show(Console(), shown)
