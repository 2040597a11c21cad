"""Every store gives the same hits, in the same order, with the same scores and explanations."""

import random
from contextlib import ExitStack
from typing import Any

import pytest

from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_workers.stores import with_bodies
from tests.contract.retrievers.modules.conftest import STORES, opened_store
from tests.fixtures.document_suite import LATER
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.world import World, example, new_world

COLLECTION = "ranked"
SYLLABLES = ("Cone", "Sphere", "Image", "Volume", "Mapper", "Source", "Actor", "Reader", "Widget", "STL")
WORDS = ("cone", "sphere", "scan", "volume", "red", "cut", "plane", "light", "read", "load", "圆锥", "体积")
SEARCHES: list[dict[str, Any]] = [
    {"query": "vtkConeSource with a vtkActor"},
    {"query": "an actor that shows a cone source"},
    {"query": "vtkMapper", "match": "suffix", "channels": ["modules"], "top_k": 30},
    {"query": "Actor and Mapper", "match": "suffix", "mode": "coverage", "candidates": 7},
    {"query": "something red that is loaded", "channels": ["modules"]},
    {"query": "light", "sub_queries": [{"description": "vtkActor", "weight": 9}, "a volume reader"]},
    {"query": "请用vtkActor渲染体积"},
    {"query": "vtkImageReader", "match": "suffix", "filter": {"team": "red"}},
    {"query": "vtkActor", "filter": {"path": {"prefix": "src/1"}, "size": {"from": 3}}},
    {"query": "a mapper", "match": "suffix", "filter": {"module": {"prefix": "vtk.C"}, "owner": None}},
    {"query": "vtkNobody knows", "why_not": "3"},
]


def invented(lot: random.Random, number: int) -> dict[str, object]:
    """Invent a document, which writes its modules in one case or the other."""
    names = {
        lot.choice(["vtk.Core.vtk", "vtk", "VTK", ""]) + "".join(lot.choices(SYLLABLES, k=lot.randint(1, 2)))
        for _ in range(lot.randint(1, 5))
    }
    document = example(number, *sorted(names), description=" ".join(lot.choices(WORDS, k=8)), code=f"run({number})")
    more = {"file_path": f"src/{number}.js", "team": lot.choice(["red", "blue"]), "size": number % 7}
    return document | more | ({"owner": "Ada"} if number % 3 else {})


def filled(world: World) -> World:
    """Ingest documents, replace and drop some, and learn the lexicon before and after."""
    lot = random.Random(2_026)
    world.ingest_code(*(invented(lot, number) for number in range(80)), collection=COLLECTION)
    world.run(LearnLexicon(collection=COLLECTION))
    world.ingest_code(*(invented(lot, number) for number in range(10, 20)), collection=COLLECTION)
    for number in range(60, 70):
        world.ports.bodies["modules"].drop(COLLECTION, str(number), LATER)
    world.run(LearnLexicon(collection=COLLECTION))
    return world


def answers(world: World) -> list[str]:
    jobs = [world.run(ModuleSearch.model_validate({"collection": COLLECTION} | search)) for search in SEARCHES]
    return [world.result(job).model_dump_json(exclude={"job_id", "stages", "timing", "usage"}) for job in jobs]


@pytest.mark.parametrize("name", all_at_night(STORES[1:], short=["postgres"]))
def test_a_server_ranks_as_the_store_in_memory_does(name: str, request: pytest.FixtureRequest) -> None:
    wanted = answers(filled(new_world()))
    assert sum('"results":[]' not in answer for answer in wanted) >= len(SEARCHES) - 2
    with ExitStack() as opened:
        world = new_world()
        world.with_ports(modules=opened_store(name, request, opened))
        world.ports = with_bodies(world.ports)
        for asked, own, answer in zip(SEARCHES, answers(filled(world)), wanted, strict=True):
            assert own == answer, asked
