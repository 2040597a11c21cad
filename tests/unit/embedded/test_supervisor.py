"""The configuration is read back with supervisord's own rules: its parser, then shlex, then %-expansion."""

import shlex
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from supervisor.options import UnhosedConfigParser

from querymill_embedded.errors import StackError
from querymill_embedded.parts import Program
from querymill_embedded.state import Control
from querymill_embedded.supervisor import StopGroup, Supervised, command_value, configuration, restarts

CONTROL = Control(port=20999, user="querymill", password="secret")
DATA = Path("/srv/100 % ;käpt")
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1)


def _supervised(name: str, group: StopGroup, command: tuple[str, ...] = ("true",)) -> Supervised:
    return Supervised(program=Program(name=name, command=command, stop_wait_s=1.5), folder=DATA / name, group=group)


def _sections(text: str) -> dict[str, dict[str, str]]:
    parser = UnhosedConfigParser()
    parser.read_string(text)
    return {section: dict(parser.items(section)) for section in parser.sections()}


@given(st.lists(WORDS, min_size=1))
def test_every_command_is_read_back_word_for_word(words: list[str]) -> None:
    sections = _sections(f"[program:x]\ncommand = {command_value(tuple(words))}\n")
    assert shlex.split(sections["program:x"]["command"] % {}) == words


@pytest.mark.parametrize("word", ["a ;b", "it's ; # 'so'", ";", " #", "%(here)s %", "\\", '"', "a  ; ;"])
def test_comment_signs_quotes_and_percents_stay_in_the_command(word: str) -> None:
    sections = _sections(f"[program:x]\ncommand = {command_value(('run', word, 'end'))}\n")
    assert shlex.split(sections["program:x"]["command"] % {}) == ["run", word, "end"]


def test_a_line_break_in_a_command_is_refused() -> None:
    with pytest.raises(StackError, match="line break"):
        command_value(("run", "a\nb"))


def test_the_supervisor_listens_on_the_loopback_with_a_password() -> None:
    sections = _sections(configuration(DATA, CONTROL, []))
    assert sections["inet_http_server"] == {"port": "127.0.0.1:20999", "username": "querymill", "password": "secret"}


def test_servers_stop_after_programs_and_the_leash_stops_first() -> None:
    supervised = [
        _supervised("valkey", StopGroup.SERVERS),
        _supervised("search", StopGroup.PROGRAMS),
        _supervised("leash", StopGroup.LEASH),
        _supervised("postgres", StopGroup.SERVERS),
    ]
    sections = _sections(configuration(DATA, CONTROL, supervised))
    assert sections["group:servers"] == {"programs": "valkey,postgres", "priority": "1"}
    assert sections["group:programs"] == {"programs": "search", "priority": "2"}
    assert sections["group:leash"] == {"programs": "leash", "priority": "3"}


def test_a_process_is_restarted_logged_with_rotation_and_named_from_the_data_folder() -> None:
    section = _sections(configuration(DATA, CONTROL, [_supervised("search", StopGroup.PROGRAMS)]))["program:search"]
    assert section["autorestart"] == "true"
    assert section["stdout_logfile"] == "logs/search.log"
    assert section["stdout_logfile_maxbytes"] == "5MB"
    assert section["directory"] == "search"
    assert section["stopwaitsecs"] == "2"
    assert "user" not in section


def test_restarts_count_the_starts_under_the_present_supervisor_over_rotated_logs(tmp_path: Path) -> None:
    log = tmp_path / "supervisord.log"
    log.with_name("supervisord.log.1").write_text(
        "1 INFO supervisord started with pid 7\n2 INFO spawned: 'a' with pid 1\n"
        "3 INFO supervisord started with pid 8\n4 INFO spawned: 'a' with pid 2\n5 INFO spawned: 'ab' with pid 3\n"
    )
    log.write_text("6 INFO spawned: 'a' with pid 4\n7 INFO exited: a\n8 INFO spawned: 'a' with pid 5\n")
    assert restarts(log, 8, "a") == 2
    assert restarts(log, 8, "ab") == 0
    assert restarts(tmp_path / "none.log", 8, "a") == 0
