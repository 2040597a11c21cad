"""What every store of code documents must do."""

import random

import pytest

from querymill_workers.jobs.faults import Unavailable
from querymill_workers.retrievers.modules.ports import Modules
from querymill_workers.retrievers.modules.rules.lexicon import EMPTY, Lexicon
from querymill_workers.retrievers.modules.rules.names import Match, hits
from tests.contract.retrievers.modules.conftest import STORES
from tests.fixtures.short_forms import all_at_night
from tests.fixtures.stored_code import FIRST, SECOND, document, found, store


def test_a_suffix_of_a_name_recalls_its_documents(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtk.Rendering.Core.vtkActor"), document(2, "vtkImageMapper"))
    store(modules, collection, document("a.js", "vtkMapper", "vtkActor"))
    assert found(modules, collection, "vtkActor") == {1, "a.js"}
    assert found(modules, collection, "MAPPER") == {2, "a.js"}
    assert found(modules, collection, "MAPPER", "exact") == {"a.js"}
    assert found(modules, collection, "act") == set()


def test_exact_documents_are_told_apart_in_a_suffix_match(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkImageMapper"), document(2, "vtkMapper"), document(3, "mapper"))
    recalled = modules.recall(collection, ["mapper"], match="suffix")["mapper"]
    assert (set(recalled.all), set(recalled.exactly)) == ({1, 2, 3}, {2, 3})


def test_an_id_of_zero_is_an_id_and_not_the_path_zero(modules: Modules, collection: str) -> None:
    store(modules, collection, document(0, "vtkActor", code="number"), document("0", "vtkActor", code="path"))
    assert found(modules, collection, "vtkActor") == {0, "0"}
    assert {key: stored.code for key, stored in modules.documents(collection, [0, "0"]).items()} == {
        0: "number",
        "0": "path",
    }


def test_storing_a_document_again_replaces_it(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor", "vtkPlane", description="old", code="old"))
    store(modules, collection, document(1, "vtkMapper", "vtkPlane", description="new", code="new"), revision=SECOND)
    assert found(modules, collection, "vtkActor") == set()
    assert found(modules, collection, "vtkMapper") == found(modules, collection, "vtkPlane") == {1}
    (summary,) = modules.describe(collection, [1])
    assert (summary.names, summary.description) == (("vtkMapper", "vtkPlane"), "new")
    assert modules.documents(collection, [1])[1].code == "new"


def test_a_name_that_only_changes_its_case_keeps_its_document(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor"))
    store(modules, collection, document(1, "VTKactor"), revision=SECOND)
    assert found(modules, collection, "vtkActor") == {1}


def test_storing_the_same_twice_changes_nothing(modules: Modules, collection: str) -> None:
    for _ in range(2):
        store(modules, collection, document(1, "vtkActor"), document(1, "vtkActor"))
    assert found(modules, collection, "vtkActor") == {1}
    assert len(list(modules.describe_all(collection))) == 1


def test_no_collection_sees_anothers_documents(modules: Modules, collection: str) -> None:
    other = f"{collection}x"
    store(modules, collection, document(1, "vtkActor"))
    store(modules, other, document(2, "vtkActor", "vtkSecret"))
    assert found(modules, collection, "vtkActor") == {1}
    assert modules.describe(collection, [2]) == []
    assert modules.documents(collection, [2]) == {}
    assert modules.vocabulary(collection).names == ("vtkActor",)
    assert [summary.document for summary in modules.describe_all(collection)] == [1]


def test_what_looks_like_operators_is_kept_as_it_came(modules: Modules, collection: str) -> None:
    hostile = {"$where": "sleep(9)", "a.b": [{"$gt": ""}]}
    store(
        modules, collection, document("$gt", "vtkActor", description="{$ne: 1} .*", code="db.dropDatabase()", **hostile)
    )
    (back,) = modules.documents(collection, ["$gt"]).values()
    assert back.metadata == hostile
    assert back.meta_info.description == "{$ne: 1} .*"


@pytest.mark.parametrize("key", [".*", "$gt", "^", "actor$", "[", "\\", "\uffff", "演员"])
def test_a_module_that_looks_like_an_expression_finds_nothing(modules: Modules, collection: str, key: str) -> None:
    store(modules, collection, document(1, "vtkActor"))
    assert set(modules.recall(collection, [key], match="suffix")[key].all) == set()


def test_the_vocabulary_follows_what_is_stored(modules: Modules, collection: str) -> None:
    assert modules.vocabulary(collection).names == ()
    store(modules, collection, document(1, "vtk.A.vtkActor", "vtkPlane"))
    assert modules.vocabulary(collection).names == ("vtkActor", "vtkPlane")
    store(modules, collection, document(2, "vtkMapper"))
    vocabulary = modules.vocabulary(collection)
    assert vocabulary.names == ("vtkActor", "vtkMapper", "vtkPlane")
    assert (vocabulary.changes, vocabulary.version, vocabulary.lexicon) == (2, 0, EMPTY)


def test_a_published_lexicon_is_the_one_in_use(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor"))
    words = Lexicon({"$cone": ("vtkConeSource",), "锥体": ("vtkConeSource", "vtkActor")})
    assert modules.publish_lexicon(collection, words, replacing=0, changes=1) == 1
    assert modules.publish_lexicon(collection, Lexicon({"x": ("vtkX",)}), replacing=1, changes=1) == 2
    assert modules.publish_lexicon(collection, words, replacing=2, changes=1) == 3
    vocabulary = modules.vocabulary(collection)
    assert (vocabulary.lexicon, vocabulary.version, vocabulary.learned_changes) == (words, 3, 1)


def test_a_lexicon_that_has_been_replaced_is_not_replaced_again(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor"))
    modules.publish_lexicon(collection, Lexicon({"a": ("vtkA",)}), replacing=0, changes=1)
    with pytest.raises(Unavailable, match="published first"):
        modules.publish_lexicon(collection, Lexicon({"b": ("vtkB",)}), replacing=0, changes=1)
    assert modules.vocabulary(collection).lexicon == Lexicon({"a": ("vtkA",)})


def test_documents_that_do_not_exist_are_left_out(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor"), document("a.js", "vtkPlane"))
    assert {summary.document for summary in modules.describe(collection, [1, 7, "a.js", "1"])} == {1, "a.js"}
    assert set(modules.documents(collection, [1, 7, "a.js", "1"])) == {1, "a.js"}
    assert modules.describe(collection, []) == []
    assert modules.documents(collection, []) == {}


def test_more_summaries_than_one_query_takes_are_all_described(modules: Modules, collection: str) -> None:
    store(modules, collection, *(document(number, "vtkActor") for number in range(60)))
    assert {summary.document for summary in modules.describe(collection, range(60))} == set(range(60))


def test_several_modules_are_recalled_by_their_keys(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor", "vtkPlane"), document(2, "vtkImageActor"))
    for match, actors in (("exact", {1}), ("suffix", {1, 2})):
        recalled = modules.recall(collection, ["actor", "plane", "math"], match=match)  # type: ignore[arg-type]
        assert {key: set(found_.all) for key, found_ in recalled.items()} == {
            "actor": actors, "plane": {1}, "math": set(),
        }  # fmt: skip
    assert modules.recall(collection, [], match="exact") == {}


def test_of_two_versions_put_at_once_the_later_counts(modules: Modules, collection: str) -> None:
    versions = [(document(1, "vtkActor", code="old"), FIRST), (document(1, "vtkPlane", code="new"), SECOND)]
    modules.put(collection, versions, record="both")
    modules.settle(collection, [1])
    assert (found(modules, collection, "vtkActor"), found(modules, collection, "vtkPlane")) == (set(), {1})
    assert modules.documents(collection, [1])[1].code == "new"


def test_a_collection_that_was_never_stored_to_is_empty(modules: Modules, collection: str) -> None:
    vocabulary = modules.vocabulary(collection)
    assert (vocabulary.names, vocabulary.lexicon, vocabulary.changes) == ((), EMPTY, 0)
    assert list(modules.describe_all(collection)) == []
    assert modules.documents(collection, [1]) == {}


SYLLABLES = ("Cone", "Sphere", "Image", "Volume", "Mapper", "Source", "Actor", "Poly", "Data", "Reader", "STL", "D3")


def invented_name(lot: random.Random) -> str:
    return lot.choice(["vtk", "VTK", ""]) + "".join(lot.choices(SYLLABLES, k=lot.randint(1, 3)))


@pytest.mark.parametrize("modules", all_at_night(STORES, short=["memory", "postgres"]), indirect=True, scope="module")
def test_indexed_recall_equals_the_unindexed_suffix_scan_on_300_random_queries(
    modules: Modules, collection: str
) -> None:
    lot = random.Random(20_260)
    stored = [document(number, *{invented_name(lot) for _ in range(lot.randint(1, 6))}) for number in range(200)]
    store(modules, collection, *stored)
    store(modules, f"{collection}x", *(document(1000 + n, invented_name(lot)) for n in range(50)))
    nonempty = 0
    for _ in range(300):
        name = invented_name(lot)
        module = name[lot.randint(0, len(name) - 1) :] if lot.random() < 0.5 else lot.choice([name.upper(), name])
        match: Match = lot.choice(["suffix", "exact"])
        scan = {
            document.document
            for document in stored
            if any(hits(module, name, match=match) for name in document.meta_info.vtkjs_modules)
        }
        nonempty += bool(scan)
        assert found(modules, collection, module, match) == scan, (module, match)
    assert nonempty > 100


def test_a_dropped_document_is_found_no_more_and_its_names_are_no_shorthands(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor", "vtkPlane"), document("a.js", "vtkPlane"))
    changes = modules.vocabulary(collection).changes
    assert modules.drop(collection, 1)
    assert not modules.drop(collection, 1)
    assert modules.describe(collection, [1]) == []
    assert modules.documents(collection, [1]) == {}
    assert (found(modules, collection, "vtkActor"), found(modules, collection, "vtkPlane")) == (set(), {"a.js"})
    vocabulary = modules.vocabulary(collection)
    assert (vocabulary.names, vocabulary.changes > changes) == (("vtkPlane",), True)


def test_a_document_that_was_dropped_can_be_stored_again(modules: Modules, collection: str) -> None:
    store(modules, collection, document(1, "vtkActor", code="old"))
    modules.drop(collection, 1)
    store(modules, collection, document(1, "vtkActor", code="new"))
    assert modules.documents(collection, [1])[1].code == "new"
    assert modules.vocabulary(collection).names == ("vtkActor",)
