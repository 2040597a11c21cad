"""What a job's page offers to copy: the request for a shell, for Python and TypeScript, and the job as a note. Pure."""

import json
from typing import Any, Final

from querymill.gateway.console.wording import clock, duration, plain, short
from querymill_shared.board import Picture
from querymill_shared.contracts.jobs import AnyResult, JobRequest

#: Fields of every request that say nothing where they have these values.
_DEFAULTS: Final = {"version": 1, "lane": "interactive"}
#: Lines of the note about hits.
NOTED: Final = 5


def copies_of(picture: Picture, result: AnyResult | None, gateway: str) -> list[tuple[str, str]]:
    """Return what can be copied, with its name."""
    asked = picture.asked
    if asked is None:
        return []
    return [
        ("curl", as_curl(asked, gateway)),
        ("Python", as_python(asked)),
        ("TypeScript", as_typescript(asked, gateway)),
        ("Note for a ticket", as_note(picture, result)),
    ]


def _fields(asked: JobRequest) -> dict[str, Any]:
    given = asked.model_dump(mode="json", exclude_defaults=True)
    kept = {name: value for name, value in given.items() if _DEFAULTS.get(name) != value}
    return {"kind": asked.kind} | kept


def as_curl(asked: JobRequest, gateway: str) -> str:
    """Write the request for a shell. Its JSON is ASCII in a quoted heredoc: nothing in it reaches shell or terminal."""
    body = json.dumps(_fields(asked), indent=2)
    return (
        f"curl '{gateway}/v1/jobs?wait=30' -H 'Content-Type: application/json' \\\n"
        f"  -H \"Authorization: Bearer $QUERYMILL_API_KEY\" --data-binary @- <<'JSON'\n{body}\nJSON"
    )


def as_python(asked: JobRequest) -> str:
    """Write the request for Python."""
    fields = {name: value for name, value in _fields(asked).items() if name != "kind"}
    name = type(asked).__name__
    arguments = "".join(f"    {field}={value!a},\n" for field, value in fields.items())
    return (
        f"from querymill import Querymill, {name}\n\nwith Querymill() as mill:\n"
        f"    result = mill.submit({name}(\n{_indented(arguments)}    )).result()\n"
    )


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def as_typescript(asked: JobRequest, gateway: str) -> str:
    """Write the request for TypeScript and JavaScript."""
    body = json.dumps(_fields(asked), indent=2)
    return (
        f'const answer = await fetch("{gateway}/v1/jobs?wait=30", {{\n  method: "POST",\n'
        '  headers: {"Content-Type": "application/json", Authorization: `Bearer ${process.env.QUERYMILL_API_KEY}`},\n'
        f"  body: JSON.stringify({body}),\n}});\nconst result = await answer.json();"
    )


def as_note(picture: Picture, result: AnyResult | None) -> str:
    """Write the job as Markdown, for a ticket or an assistant."""
    record = picture.record
    took = "" if record.ended is None else f", {duration(record.ended - record.created)}"
    lines = [
        f"**Job `{record.job_id}`**: {record.kind} in {record.collection}, {record.state}{took}",
        f"Submitted {clock(record.created)}",
    ]
    question = getattr(picture.asked, "query", "")
    lines += [f"> {short(plain(question), 300)}"] if question else []
    lines += [f"Reason: {plain(record.reason)}"] if record.reason else []
    lines += [f"- missing {part.stage}: {plain(part.reason)}" for part in (result.degraded if result else ())]
    lines += [f"- step {step.name}: {step.state}, attempt {step.attempt}" for step in picture.steps[: NOTED * 2]]
    return "\n".join(lines)
