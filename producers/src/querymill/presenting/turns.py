"""The turns of a chat as people and agents write them: a line each."""

from collections.abc import Iterable, Mapping


def turns_in(lines: Iterable[str]) -> list[dict[str, str]]:
    """Read turns such as "user: which ships?" and "assistant: nine". Without a role, the user said it.

    Blank lines are passed over.
    """
    return [_turn(line.strip()) for line in lines if line.strip()]


def lines_of(turns: Iterable[Mapping[str, str]]) -> list[str]:
    """Write turns as `turns_in` reads them. A turn of several lines becomes one."""
    return [f"{turn['role']}: {' '.join(turn['text'].split())}" for turn in turns]


def _turn(line: str) -> dict[str, str]:
    role, _, text = line.partition(":")
    named = role.strip().lower()
    return {"role": named, "text": text.strip()} if named in ("user", "assistant") else {"role": "user", "text": line}
