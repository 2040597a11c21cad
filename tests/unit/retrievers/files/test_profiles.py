"""The weights of the evidence, read from a file."""

import json
from pathlib import Path

import pytest

from querymill_workers.retrievers.files.profiles import file_profiles
from querymill_workers.retrievers.files.rules.relevance import Evidence, relevance

WORDS = {"weights": {"lexical": 2}, "bands": [[0, 0], [2, 1]]}


def test_the_profiles_of_the_package_are_whole() -> None:
    profiles = file_profiles()
    assert profiles.vectors is not None
    assert "vector" in profiles.vectors.weights
    assert "vector" not in profiles.words.weights
    for profile in (profiles.words, profiles.vectors):
        totals = [total for total, _ in profile.bands.points]
        assert totals == sorted(totals)
        assert [worth for _, worth in profile.bands.points] == [0.0, 0.2, 0.5, 0.8, 1.0]
        assert all(weight > 0 for weight in profile.weights.values())
    assert relevance(Evidence(0, 0, 0, 0, 0), profiles) == 0.0
    assert relevance(Evidence(1, 1, 1, 1, 1, fields=1.0, definitions=2.0), profiles) == 1.0


def test_profiles_of_a_path_replace_them(tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(json.dumps({"words": WORDS}))
    profiles = file_profiles(str(path))
    assert profiles.vectors is None
    assert relevance(Evidence(0.5, 0, 0, 0, 0, vector=1.0), profiles) == 0.5


WRONG = {
    "no JSON": "{",
    "a list": "[]",
    "no profile for words": "{}",
    "no weights": json.dumps({"words": {"bands": []}}),
    "a weight in letters": json.dumps({"words": {"weights": {"lexical": "much"}, "bands": []}}),
    "a band of one number": json.dumps({"words": WORDS, "vectors": {"weights": {}, "bands": [[1]]}}),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_file_without_profiles_is_refused_with_the_setting_and_the_path(tmp_path: Path, name: str) -> None:
    path = tmp_path / "own.json"
    path.write_text(WRONG[name])
    with pytest.raises(ValueError, match=r"QUERYMILL_FILE_RELEVANCE: .*own\.json does not hold relevance profiles: "):
        file_profiles(str(path))
