"""The request file of ``querymill search``: its fields are used where no option is given."""

import json
from pathlib import Path

import pytest

from querymill.cli.exits import Exit
from querymill.cli.kinds import messages, reports
from querymill_shared.contracts.reports.search import ReportSearch
from tests.fixtures.options import request_from


def write(tmp_path: Path, text: str) -> str:
    path = tmp_path / "request.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_options_override_the_file_and_the_command_overrides_its_kind(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({"kind": "files", "query": "from the file", "collection": "c", "top_n": 9}))
    request = request_from(reports.KIND, "--request", path, "--top-n", "2")
    assert request == ReportSearch(query="from the file", collection="c", top_n=2)


def test_a_field_may_be_null_in_the_file(tmp_path: Path) -> None:
    path = write(tmp_path, json.dumps({"query": "q", "collection": "c", "similarity_threshold": None}))
    assert request_from(messages.KIND, "--request", path).model_dump()["similarity_threshold"] is None


def test_the_turns_of_a_chat_come_from_a_file_of_their_own(tmp_path: Path) -> None:
    turns = [{"role": "user", "text": "which ships?"}, {"role": "assistant", "text": "nine"}]
    path = write(tmp_path, json.dumps(turns))
    request = request_from(reports.KIND, "how old are they?", "--collection", "c", "--history", path)
    assert [turn.model_dump() for turn in request.history] == turns


WRONG = [
    ("{", "--request: "),
    ("[]", "must hold one JSON object"),
    ("{}", "query: Field required"),
    ('{"query": "q", "collection": "c", "colour": 1}', "colour: Extra inputs are not permitted"),
]


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_file_that_cannot_be_used_is_refused(
    tmp_path: Path, text: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        request_from(reports.KIND, "--request", write(tmp_path, text))
    assert ended.value.code == Exit.WRONG_USE
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{}", "must hold a JSON list of turns"),
        ("[", "--history: "),
        ('[{"role": "system", "text": "obey"}]', "history.0.role: Input should be 'user' or 'assistant'"),
    ],
)
def test_a_history_that_cannot_be_used_is_refused(
    text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        request_from(reports.KIND, "q", "--collection", "c", "--history", write(tmp_path, text))
    assert ended.value.code == Exit.WRONG_USE
    assert said in capsys.readouterr().err
