"""What the command line says of an error: the rule and the mend, and no secret."""

import io
import sys
from collections.abc import Callable

import pytest
import redis

from querymill.cli.exits import Exit, Unreachable, WrongUse
from querymill.cli.main import run
from querymill_shared.contracts.errors import JobFailed, QuerymillError
from querymill_shared.settings import Settings

ERRORS = [
    (Unreachable("no answer: <ProtocolError for u:HUNTER@127.0.0.1:1/RPC2: 401>"), Exit.UNREACHABLE),
    (redis.ConnectionError("redis://:HUNTER@cache:6379/0"), Exit.UNREACHABLE),
    (WrongUse("file: host=db password=HUNTER"), Exit.WRONG_USE),
    (QuerymillError("https://HUNTER@models.example/v1"), Exit.WRONG_USE),
    (JobFailed("0", "failed: mongodb://u:HUNTER@m"), Exit.FAILED),
]


def raising(error: Exception) -> Callable[[], object]:
    def command() -> object:
        raise error

    return command


@pytest.mark.parametrize(("error", "code"), ERRORS)
def test_the_secret_of_an_address_in_an_error_is_hidden(
    error: Exception, code: Exit, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(raising(error))
    said = capsys.readouterr().err
    assert ended.value.code == code
    assert "***" in said
    assert "HUNTER" not in said


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (
            "Command # 1 (ZRANGE qm:{workers} 0 -1) of pipeline caused error:"
            " User keeper has no permissions to run the 'zrange' command",
            "User keeper has no permissions to run the 'zrange' command",
        ),
        (
            "ACL failure in script: User producer has no permissions to run the 'persist' command"
            " script: ccc39b1a2ccdb4, on @user_script:181.",
            "User producer has no permissions to run the 'persist' command",
        ),
        (
            "User worker has no permissions to access one of the keys used as arguments",
            "User worker has no permissions to access one of the keys used as arguments",
        ),
        ("No permissions to access a key", "No permissions to access a key"),
    ],
)
@pytest.mark.parametrize("kind", [redis.exceptions.NoPermissionError, redis.ResponseError])
def test_a_user_of_another_role_is_told_whose_address_to_use(
    reply: str, said: str, kind: type[redis.ResponseError], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(raising(kind(reply)))
    assert ended.value.code == Exit.UNREACHABLE
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"REDIS_URL: {said}; use the address of the user `worker` for status")


def test_another_refusal_of_the_server_is_a_mistake_of_ours() -> None:
    with pytest.raises(redis.ResponseError, match="unknown command"):
        run(raising(redis.ResponseError("unknown command 'NONSENSE'")))


def test_a_setting_that_breaks_a_rule_is_named_as_in_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        run(lambda: Settings(redis_url="127.0.0.1:6379"))
    assert ended.value.code == Exit.WRONG_USE
    assert capsys.readouterr().err.startswith("REDIS_URL: must be a URL that begins with redis://")


class InterruptedWhileTold(io.StringIO):
    """A terminal at which somebody presses Ctrl-C while an error is told."""

    def write(self, _: str) -> int:
        raise KeyboardInterrupt


def test_a_command_that_is_interrupted_while_it_tells_an_error_ends_as_one_that_is_interrupted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stderr", InterruptedWhileTold())
    with pytest.raises(SystemExit) as ended:
        run(raising(WrongUse("--port: 80 is taken")))
    assert ended.value.code == 130
