"""The table of commands: its lines are the help, and a command is imported only when it is used."""

import pkgutil
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from querymill import cli
from querymill.cli.exits import WrongUse
from querymill.cli.installed import add_commands
from querymill.cli.main import app
from querymill.cli.summaries import COMMANDS, help_text
from querymill.install_hints import install_hint
from tests.unit.producers.cli.test_installed import command_line

#: What the help must not import: each of these takes longer than the help may, 0.15 s of processor.
HEAVY = "sorted({'typer', 'rich', 'pydantic', 'redis', 'querymill.client.mill', 'celery', 'kombu'} & set(sys.modules))"


@pytest.mark.parametrize("name", COMMANDS)
def test_each_line_of_the_help_leads_to_a_command_of_that_name(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"], prog_name="querymill")
    assert shown.exit_code == 0, shown.output
    assert f"Usage: querymill {name}" in shown.output


def test_each_command_that_a_module_registers_has_its_line() -> None:
    registered: dict[str, str] = {}
    for module in pkgutil.iter_modules(cli.__path__):
        register = getattr(import_module(f"querymill.cli.{module.name}"), "register", None)
        if register is not None:
            group = typer.Typer()
            group.callback()(lambda: None)
            register(group)
            registered |= dict.fromkeys(vars(typer.main.get_command(group))["commands"], module.name)
    assert registered == {name: summary.module for name, summary in COMMANDS.items() if summary.module}


def test_each_line_of_the_help_fits_a_terminal_of_80_columns() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "80"}).output
    assert [name for name, summary in COMMANDS.items() if summary.does not in shown] == []


def commands_below(command: Any) -> Iterator[Any]:
    """Yield a command and those of its group."""
    yield command
    for each in getattr(command, "commands", {}).values():
        yield from commands_below(each)


def test_the_help_is_the_same_whether_it_is_asked_for_or_needed() -> None:
    for asked in (["--help"], []):
        assert CliRunner().invoke(app, asked).output.rstrip() == help_text(is_terminal=False).rstrip()


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_of_each_command_ends_with_examples_that_it_reads(name: str) -> None:
    group: Any = typer.main.get_command(app)
    for path, command in paths_below(group.imported(name), name):
        assert command.epilog, f"querymill {path} has no example: add it to querymill.cli.examples"
        if hasattr(command, "commands"):
            continue
        for example in command.epilog.split("\n\n")[1:]:
            words = [word for word in shlex.split(example) if not re.match("[A-Z_]+=", word)]
            assert " ".join(words).startswith(f"querymill {path}")
            command.make_context(path, words[1 + len(path.split()) :])  # it raises where an option is unknown


def paths_below(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Yield a command and those of its group, each with what is written for it."""
    yield path, command
    for name, each in getattr(command, "commands", {}).items():
        yield from paths_below(each, f"{path} {name}")


@pytest.mark.parametrize("name", COMMANDS)
def test_no_help_has_markup_that_the_terminal_swallows_or_a_name_of_python(name: str) -> None:
    group: Any = typer.main.get_command(app)
    for command in commands_below(group.imported(name)):
        texts = [command.help or "", *(option.help or "" for option in command.params)]
        assert [text for text in texts if re.search(r"``|\[[a-z]", text)] == []
        shown = [option.default for option in command.params if option.show_default]
        assert [default for default in shown if isinstance(default, type)] == [], command.name
        assert re.findall(r"[^\n]\n[^\n ]", command.help or "") == [], "the terminal breaks the lines"


def test_a_word_that_is_nearly_a_command_is_answered_with_it() -> None:
    assert "Did you mean 'status'?" in CliRunner().invoke(app, ["stat"]).output


@pytest.mark.parametrize("asked", ["--version", "--help"])
def test_neither_the_version_nor_the_help_imports_what_is_heavy(asked: str) -> None:
    code = f"""
import sys, querymill_command
sys.argv[1:] = [{asked!r}]
try:
    querymill_command.main()
except SystemExit:
    pass
print({HEAVY})
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.splitlines()[-1] == "[]"


def test_a_client_whose_broker_is_the_board_imports_no_celery() -> None:
    code = "import sys; from querymill import Querymill; print(sorted({'celery', 'kombu'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_a_command_of_an_extra_that_is_not_installed_says_what_to_install() -> None:
    line = command_line()
    add_commands(line, [], lacking={"eval": "eval"})
    run = CliRunner().invoke(line, ["eval", "set", "folder", "--kind", "reports"])
    assert isinstance(run.exception, WrongUse)
    assert str(run.exception) == f"eval is not installed; {install_hint('eval')}"
