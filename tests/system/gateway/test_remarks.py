"""What of a document was left out or read otherwise is said on every face: the command, HTTP, the console and MCP."""

import json
from pathlib import Path

import httpx
import openpyxl
import pytest

from tests.fixtures.command_line import CommandLine
from tests.system.gateway.test_agents import asked

SAID = "sheet Tolls: 2 hidden rows: read all the same"


@pytest.mark.usefixtures("worker", "openai_server")
def test_a_remark_is_followed_from_the_file_to_each_face(
    querymill: CommandLine, http: httpx.Client, gateway: str, tmp_path: Path
) -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    assert sheet is not None
    sheet.title = "Tolls"
    for row in (["Port", "Toll"], ["Tinn", 12], ["Moss", 9], ["Egersund", 4]):
        sheet.append(row)
    sheet.row_dimensions[2].hidden = sheet.row_dimensions[4].hidden = True
    path = tmp_path / "tolls.xlsx"
    book.save(path)

    run = querymill("ingest", "reports", path, "--collection", "remarked", "--json", columns=400)
    assert run.returncode == 0, run.stderr
    assert f"{path}: {SAID}" in run.stderr
    (told,) = json.loads(run.stdout)["documents"]
    assert told["remarks"] == [SAID]
    shown = querymill("show", "reports", told["id"], "--collection", "remarked")
    assert json.loads(shown.stdout)["remarks"] == [SAID]

    at = "/v1/collections/remarked/reports"
    sent = http.post(at, files={"file": ("tolls.xlsx", path.read_bytes())}, params={"id": "tolls", "wait": 30})
    assert sent.json()["documents"][0]["remarks"] == [SAID]
    assert http.get(f"{at}/tolls").json()["remarks"] == [SAID]
    page = http.get("/console/collections/remarked/reports/tolls", follow_redirects=True)
    assert SAID in page.text

    _, (read,) = asked(f"{gateway}/mcp", {}, "auto", ("read", {"id": "reports:remarked/tolls"}))
    assert f"Left out or read otherwise: {SAID}\n[page 1]" in read
