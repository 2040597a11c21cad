"""Each option of ``querymill search KIND`` reaches its field; a wrong value is refused by name.

The tables of each kind stand in its folder: ``OPTIONS`` and ``WRONG`` of ``options.py``.
"""

import importlib
from pathlib import Path
from typing import Any

import pytest

from querymill.cli.kind import Kind
from querymill.cli.kinds import KINDS
from tests.fixtures.options import fields_of, given_by, request_from

#: The option of every kind that reads a file.
HISTORY = (
    ("--history", str(Path(__file__).parent / "turns.json")),
    {"history": ({"role": "user", "text": "Which ships sail in 2020?"},)},
)


def table(kind: Kind[Any], name: str) -> list[tuple[tuple[str, ...], Any]]:
    found: list[tuple[tuple[str, ...], Any]] = getattr(
        importlib.import_module(f"tests.unit.producers.cli.kinds.{kind.name}.options"), name
    )
    return [*found, HISTORY] if name == "OPTIONS" else found


def rows(name: str) -> list[Any]:
    return [
        pytest.param(kind, *row, id=f"{kind.name} {' '.join(row[0])}") for kind in KINDS for row in table(kind, name)
    ]


@pytest.mark.parametrize(("kind", "arguments", "fields"), rows("OPTIONS"))
def test_an_option_reaches_its_field(kind: Kind[Any], arguments: tuple[str, ...], fields: dict[str, Any]) -> None:
    assert given_by(kind, *arguments) == fields


@pytest.mark.parametrize("kind", KINDS, ids=[kind.name for kind in KINDS])
def test_every_option_is_tried(kind: Kind[Any]) -> None:
    tried = {name for _, fields in table(kind, "OPTIONS") for name in fields}
    assert tried | {"query", "collection"} == fields_of(kind)


@pytest.mark.parametrize(("kind", "arguments", "said"), rows("WRONG"))
def test_a_wrong_value_exits_with_two_and_names_field_and_rule(
    kind: Kind[Any], arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        request_from(kind, "q", "--collection", "c", *arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err
