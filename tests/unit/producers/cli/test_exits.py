"""What the command line says of an error: the rule and the mend, and no secret."""

from collections.abc import Callable

import pytest
import redis

from querymill.cli.exits import Exit, Unreachable, WrongUse, guarded
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
    def run() -> object:
        raise error

    return run


@pytest.mark.parametrize(("error", "code"), ERRORS)
def test_the_secret_of_an_address_in_an_error_is_hidden(
    error: Exception, code: Exit, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        guarded(raising(error))
    said = capsys.readouterr().err
    assert ended.value.code == code
    assert "***" in said
    assert "HUNTER" not in said


def test_a_setting_that_breaks_a_rule_is_named_as_in_the_environment(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        guarded(lambda: Settings(redis_url="127.0.0.1:6379"))
    assert ended.value.code == Exit.WRONG_USE
    assert capsys.readouterr().err.startswith("REDIS_URL: must be a URL that begins with redis://")
