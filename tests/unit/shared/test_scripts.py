"""The text of a script: what it uses of the prelude, in order, and nothing else."""

import re
from importlib import resources

import pytest

from querymill_shared.board.scripts import source

FOLDER = resources.files("querymill_shared.board") / "lua"
PRELUDES = ("written_over.lua", "labels.lua", "prelude.lua", "trails.lua")
SCRIPTS = sorted(path.name.removesuffix(".lua") for path in FOLDER.iterdir() if path.name not in PRELUDES)
DEFINED = re.compile(r"^local (?:function )?(\w+)", re.MULTILINE)
PRELUDE = {name for prelude in PRELUDES for name in DEFINED.findall((FOLDER / prelude).read_text())}


def defined_in(text: str) -> set[str]:
    return PRELUDE.intersection(DEFINED.findall(text))


def test_a_script_that_uses_nothing_of_the_prelude_stands_alone() -> None:
    assert source("resign") == (FOLDER / "resign.lua").read_text()


def test_a_script_brings_what_it_uses_and_what_that_uses() -> None:
    # `extend` asks for the time, and `now_ms` reads the clock into `moment`.
    assert {"moment", "read_clock", "now_ms"} <= defined_in(source("extend"))
    assert "now_us" not in defined_in(source("extend"))


@pytest.mark.parametrize("script", SCRIPTS)
def test_no_script_calls_what_it_does_not_define(script: str) -> None:
    text = re.sub(r"--.*", "", source(script))
    assert {name for name in PRELUDE if re.search(rf"\b{name}\(", text)} <= defined_in(text)
