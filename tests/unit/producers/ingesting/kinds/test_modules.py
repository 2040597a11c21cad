"""Code documents as JSON lines."""

from pathlib import Path

from querymill.ingesting.kinds.modules import LINES
from tests.fixtures.json_lines import read_lines

DOCUMENT = {"file_path": "cone.js", "code": "run()", "meta_info": {"vtkjs_modules": ["vtkConeSource"]}}


def test_a_line_is_a_document_known_by_its_id_or_its_path(tmp_path: Path) -> None:
    lines, bad = read_lines(LINES, tmp_path, DOCUMENT, DOCUMENT | {"faiss_id": 0}, DOCUMENT | {"faiss_id": 7})
    assert bad == []
    assert [line.name for line in lines] == ["cone.js", "0", "7"]


def test_a_broken_rule_is_named_from_the_document_on(tmp_path: Path) -> None:
    good, (bad,) = read_lines(LINES, tmp_path, DOCUMENT | {"meta_info": {"vtkjs_modules": ["not a name"]}})
    assert good == []
    assert bad.reason.startswith("meta_info.vtkjs_modules.0: ")
