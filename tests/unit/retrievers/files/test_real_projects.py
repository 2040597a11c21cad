"""Files with a stated kind, and notebooks, from ingestion to the hit."""

from querymill_shared.contracts.files.ingest import IngestFiles, SourceFile
from querymill_shared.contracts.files.search import FileHit, FileResult, FileSearch
from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from tests.fixtures.world import World

NOTEBOOK = """# notebook: python
# %% cell 1 [markdown]
# # Prices of pots
# %% cell 2
import pandas
# %% cell 3
def mean_price(pots):
    return pots.price.mean()
"""


def found(world: World, query: str, **fields: object) -> dict[str, FileHit]:
    asked = FileSearch.model_validate({"query": query, "collection": "c", **fields})
    result = world.result(world.run(asked))
    assert isinstance(result, FileResult)
    return {hit.path: hit for hit in result.results}


def put(world: World, *files: SourceFile) -> None:
    world.with_ports(parser=TreeSitterParser())
    world.run(IngestFiles(collection="c", documents=files))


def test_a_stated_kind_counts_before_that_of_the_path(world: World) -> None:
    made = SourceFile.model_validate({"path": "a.py", "content": "def stir_pot(): ...", "kind": "generated"})
    own = SourceFile.model_validate({"path": "dist/b.py", "content": "def stir_pot(): ...", "kind": "code"})
    odd = SourceFile.model_validate({"path": "c.py", "content": "def stir_pot(): ...", "kind": "soup"})
    put(world, made, own, odd)
    hits = found(world, "stir pot")
    assert [(path, hits[path].kind) for path in hits] == [
        ("c.py", "code"),
        ("dist/b.py", "code"),
        ("a.py", "generated"),
    ]
    assert list(found(world, "stir pot", kinds=["generated"])) == ["a.py"]
    assert sorted(found(world, "stir pot", kinds=["code"])) == ["c.py", "dist/b.py"]


def test_a_hit_in_a_notebook_shows_its_cells(world: World) -> None:
    put(world, SourceFile(path="a.ipynb", content=NOTEBOOK), SourceFile(path="b.py", content="x = 1"))
    hit = found(world, "mean price of pots")["a.ipynb"]
    assert 3 in hit.cells
    assert 2 not in hit.cells
    asked = FileSearch(query="mean_price", collection="c")
    result = world.result(world.run(asked))
    assert isinstance(result, FileResult)
    assert "mean_price, cell 3" in result.context


def test_a_question_finds_code_in_other_words_and_a_title_does_not(world: World) -> None:
    put(world, SourceFile(path="a.py", content="def remove(pot): ..."), SourceFile(path="b.py", content="x = 1"))
    assert list(found(world, "where do we erase it?")) == ["a.py"]
    assert list(found(world, "erase it")) == []
