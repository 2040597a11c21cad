"""What MongoDB's store of code documents does besides: its plans, what is half written, and what its server refuses."""

from typing import Any

import pymongo
import pytest

from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.retrievers.modules.rules.lexicon import Lexicon
from querymill_workers.retrievers.modules.rules.names import Match
from querymill_workers.retrievers.modules.stores.mongo import MongoModules
from querymill_workers.retrievers.modules.stores.register import MemoryRegister
from tests.fixtures.stored_code import FIRST, document, found, store


def stages(plan: object) -> set[str]:
    if isinstance(plan, dict):
        own = {str(plan["stage"])} if "stage" in plan else set()
        return own.union(*(stages(part) for part in plan.values()))
    return set().union(*(stages(part) for part in plan)) if isinstance(plan, list) else set()


@pytest.mark.parametrize("match", ["suffix", "exact"])
def test_recall_scans_the_index_and_only_what_it_returns(mongo: MongoModules, collection: str, match: Match) -> None:
    store(mongo, collection, *(document(number, f"vtk{'AB'[number % 2]}{number}Mapper") for number in range(40)))
    store(mongo, collection, document(99, "vtkActor"))
    plan = mongo.explain_recall(collection, "actor", match=match)
    assert "IXSCAN" in stages(plan["queryPlanner"])
    assert "COLLSCAN" not in stages(plan)
    assert plan["executionStats"]["totalDocsExamined"] == 1


def test_a_half_written_document_is_neither_scored_nor_shown(mongo: MongoModules, collection: str) -> None:
    store(mongo, collection, document(1, "vtkActor"))
    with pymongo.MongoClient[dict[str, Any]](mongo._uri) as client:
        database = client.get_default_database("querymill")
        database["module_documents"].update_one({"_id": f"{collection}/1"}, {"$unset": {"revision": 1}})
    assert mongo.describe(collection, [1]) == []


def test_a_version_that_could_not_be_written_leaves_no_trace_once_it_is_repaired(
    mongo: MongoModules, collection: str
) -> None:
    store(mongo, collection, document(1, "vtkPlane", code="old"))
    too_large = document(1, "vtkActor").model_copy(update={"code": "x" * 17_000_000})
    with pytest.raises(Unavailable):
        mongo.put(collection, [(too_large, FIRST)], record="r")
    assert mongo.documents(collection, [1])[1].code == "old"
    assert list(mongo.unsettled(collection)) == [1]
    mongo.repair(collection, 1)
    assert list(mongo.unsettled(collection)) == []
    assert mongo.describe(collection, [1])[0].names == ("vtkPlane",)
    assert mongo.vocabulary(collection).names == ("vtkPlane",)
    assert (found(mongo, collection, "vtkActor"), found(mongo, collection, "vtkPlane")) == (set(), {1})


def test_a_document_is_settled_only_once_the_lexicon_is_told_that_something_changed(
    mongo: MongoModules, collection: str
) -> None:
    with pymongo.MongoClient[dict[str, Any]](mongo._uri) as client:
        states = client.get_default_database("querymill")["module_states"]
        mongo.put(collection, [(document(1, "vtkActor"), FIRST)], record="r")
        states.update_one({"_id": collection}, {"$set": {"changes": "not a number"}})
        with pytest.raises(Refused):
            mongo.settle(collection, [1])
        states.update_one({"_id": collection}, {"$set": {"changes": 0}})
    assert list(mongo.unsettled(collection)) == [1]
    mongo.settle(collection, [1])
    assert (list(mongo.unsettled(collection)), mongo.vocabulary(collection).changes) == ([], 1)


def test_a_server_that_is_away_is_unavailable() -> None:
    store = MongoModules("mongodb://127.0.0.1:1/x", MemoryRegister(), timeout_s=0.2)
    with pytest.raises(Unavailable, match="MongoDB"):
        store.vocabulary("c")
    store.close()


def test_what_the_server_will_not_take_is_refused(mongo: MongoModules, collection: str) -> None:
    too_long = Lexicon({str(n): ("x" * 2_000_000,) for n in range(10)})
    store(mongo, collection, document(1, "vtkActor"))
    with pytest.raises(Refused, match="MongoDB"):
        mongo.publish_lexicon(collection, too_long, replacing=0, changes=1)
