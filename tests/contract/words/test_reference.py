"""Our BM25 against a library's, over texts of our own: English, Chinese, code, and mixtures."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from querymill_workers.postgres.connection import open_pool
from querymill_workers.text.words import words as words_of
from querymill_workers.words.memory import MemoryWords
from querymill_workers.words.ports import Words, WordUnit
from querymill_workers.words.postgres import PostgresWords
from tests.quality.oracle import Oracle

TEXTS = {
    "fleet": "The fleet counts nine ships. Two ships are in the harbour; the others sail to the north.",
    "soup": "Tomato soup, pea soup, and a soup of whatever the harbour sells. Soup is served at noon.",
    "actor": "const actor = vtk.Rendering.Core.vtkActor.newInstance(); actor.setMapper(coneMapper);",
    "cone": "vtkConeSource makes a cone; connect its output port to the mapper and set height = 2.5",
    "settings": "read_settings() fails when MAX_SHIPS is not a number: ValueError in harbour/settings.py line 42",
    "zh-fleet": "船队有九艘船，其中两艘停在港口，其余的正驶向北方。",
    "zh-render": "请用vtkActor渲染一个圆锥，颜色为红色，高度为2.5。",
    "zh-soup": "番茄汤和豌豆汤，汤在中午供应。",
    "mixed": "港口 harbour 的 soup 很好喝，ships 都停在那里",
    "short": "ships",
    "nothing": "…",
    "long": "the harbour report " * 40 + "ships ships ships",
}
QUERIES = [
    "ships in the harbour",
    "how do I set the mapper of a vtkActor",
    "soup soup SOUP in the harbour",
    "船队停在港口",
    "渲染圆锥的颜色",
    "cone source height 2.5",
    "MAX_SHIPS ValueError settings.py",
    "港口的 soup",
    "the of and",
    "unheardof",
]


@pytest.fixture(params=["memory", "postgres"])
def words(request: pytest.FixtureRequest) -> Iterator[Words]:
    if request.param == "memory":
        yield MemoryWords()
        return
    with open_pool(request.getfixturevalue("database_url"), max_size=2) as pool:
        yield PostgresWords(pool)


@pytest.mark.parametrize("query", QUERIES)
def test_scores_are_the_librarys(words: Words, query: str) -> None:
    collection = f"c{uuid4().hex}"
    words.put(collection, "messages", [WordUnit(id_, text) for id_, text in TEXTS.items()])
    expected = Oracle({id_: words_of(text) for id_, text in TEXTS.items()}).scores(words_of(query))
    hits = words.search(collection, "messages", query, limit=len(TEXTS))
    assert {hit.id: hit.score for hit in hits} == pytest.approx(expected, abs=1e-6)
    assert bool(hits) == (query not in {"the of and", "unheardof"})
