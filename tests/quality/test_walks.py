"""The walk through calls, on sources of a few lines."""

from pathlib import Path

import pytest

from tests.quality.walks import Walk, read_source, walk

STORY = {
    "story.py": """
from plan import Plan, planned
from rules import clean, score

def step(request, ports):
    plan = planned(request)
    found = ports.look_up(plan)
    return show(score(found), plan)

def show(ranking, plan):
    return [clean(plan.text) for _ in ranking]
""",
    "plan.py": """
from rules import clean

class Plan: ...

def planned(request):
    text = clean(request.text)
    return Plan(request, text)
""",
    "rules.py": """
def clean(text):
    return text.strip()

def score(found):
    return found
""",
}


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder


def test_a_walk_counts_each_change_of_the_module_and_each_return(tmp_path: Path) -> None:
    source = read_source([write(tmp_path, STORY)])

    # story -> plan (planned) -> rules (clean) -> story (show) -> rules (clean): five stays, two of them returns.
    assert walk(source, "story", "step", "request") == Walk(stays=5, returns=2)


def test_a_method_that_two_classes_define_is_not_followed(tmp_path: Path) -> None:
    stores = "class A:\n    def look_up(self, plan): ...\nclass B:\n    def look_up(self, plan): ...\n"
    one = "class A:\n    def look_up(self, plan): ...\n"

    two = read_source([write(tmp_path, {**STORY, "stores.py": stores})])
    assert walk(two, "story", "step", "request").stays == 5

    single = read_source([write(tmp_path, {**STORY, "stores.py": one})])
    assert walk(single, "story", "step", "request").stays == 6


@pytest.mark.parametrize("method", ["append", "_replace"])
def test_a_method_that_built_in_types_have_is_not_followed(tmp_path: Path, method: str) -> None:
    log = f"class Log:\n    def {method}(self, line): ...\n"
    story = f"def step(request, ports):\n    asked = []\n    asked.{method}(request)\n"
    source = read_source([write(tmp_path, {"story.py": story, "log.py": log})])

    assert walk(source, "story", "step", "request") == Walk(stays=1, returns=0)


def test_what_the_parameter_does_not_reach_is_not_walked(tmp_path: Path) -> None:
    source = read_source([write(tmp_path, STORY)])

    assert walk(source, "story", "step", "ports") == Walk(stays=1, returns=0)


def test_a_function_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(LookupError, match=r"story\.stop: not in the source"):
        walk(read_source([write(tmp_path, STORY)]), "story", "stop", "request")
