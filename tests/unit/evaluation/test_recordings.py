"""A recording is read line by line: a bad line costs only itself."""

import json
import stat
from pathlib import Path

from querymill import ReportSearch
from querymill.ingesting.jsonl import BadLine
from querymill_evaluation.recordings import (
    RecordedSearch,
    RecordingFile,
    SearchOutcome,
    parts_found,
    read_recording,
)
from querymill_shared.contracts.jobs import decode_result
from querymill_shared.contracts.reports.search import ReportResult
from tests.fixtures.wire import GOLDEN

SHIPS = {"kind": "reports", "collection": "filings", "query": "ships?"}


def test_a_line_is_read_as_it_was_written(tmp_path: Path) -> None:
    asked = ReportSearch(query="ships?", collection="filings", top_n=5)
    outcome = SearchOutcome(found=("r1/1",), ms=12.5)
    search = RecordedSearch.model_validate({"_id": "1f", "request": asked, "outcome": outcome})
    path = tmp_path / "day.jsonl"
    with RecordingFile(path) as file:
        file.append(search.line)
    assert json.loads(path.read_bytes())["request"] == SHIPS | {"top_n": 5}
    assert list(read_recording(path)) == [search]
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with RecordingFile(path) as file:
        assert file.held == {"1f"}


def test_a_bad_line_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    lines = [
        json.dumps({"request": SHIPS}),
        "not JSON",
        json.dumps({"request": {"kind": "drop_documents", "retriever": "reports", "collection": "filings"}}),
        json.dumps({"request": SHIPS | {"top_n": 0}}),
        json.dumps({"_id": "1", "request": SHIPS}),
        json.dumps([SHIPS]),
        "",
        json.dumps({"_id": "last", "request": SHIPS}),
    ]
    path = tmp_path / "day.jsonl"
    path.write_text("\n".join(lines))
    read = list(read_recording(path))
    assert [each.id for each in read if isinstance(each, RecordedSearch)] == ["1", "last"]
    bad = {each.number: each.reason for each in read if isinstance(each, BadLine)}
    assert sorted(bad) == [2, 3, 4, 5, 6]
    assert bad[2].startswith("not JSON: ")
    kinds = "conversations, files, messages, modules, reports, search"
    assert bad[3] == f"request.kind: must be a search ({kinds}), is 'drop_documents'"
    assert bad[4].startswith("top_n: ")
    assert bad[5] == "_id: '1' stands on an earlier line too"
    assert bad[6] == 'must be a JSON object with a "request"'


def test_two_passages_of_a_page_are_one_part() -> None:
    # Two passages of page 3 of a report are the one part "r1/3".
    golden = json.loads((GOLDEN / "now" / "results.json").read_text())["reports"]
    result = decode_result(json.dumps(golden))
    assert isinstance(result, ReportResult)
    (hit,) = result.results[:1]
    hits = [hit.model_copy(update={"document": "r1", "page": page, "number": number})
            for number, page in enumerate((3, 3, 4), start=1)]  # fmt: skip
    assert parts_found(result.model_copy(update={"results": tuple(hits)})) == ("r1/3", "r1/4")
