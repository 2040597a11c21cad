"""Ends that are noted on the board become jobs that tell of them."""

import pytest

from querymill_shared.board import Due, Verdict
from querymill_shared.contracts.callbacks import Callback, TellCaller
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from querymill_shared.contracts.search import Search
from querymill_shared.contracts.submit_options import SubmitOptions
from querymill_workers.dispatch.calling_back import call_back
from querymill_workers.dispatch.sweeper import sweep
from querymill_workers.jobs.bell import Bell
from tests.fixtures.world import World

EMBED = EmbedTexts(collection="c", texts=(TextToEmbed(id="a", text="x"),))
CALLED = SubmitOptions(callback=Callback(url="https://hooks.example/a"), labels={"user": "ada"}).owned_by("key-1")


def test_an_end_becomes_a_job_that_tells_of_it(world: World) -> None:
    job_id, _ = world.board.submit(EMBED, CALLED)
    world.board.settle(job_id, Verdict("failed", reason="r", code="lost"))
    (bell,) = sweep(world.ports)
    picture = world.board.picture(bell.job_id)
    told = picture.request
    assert isinstance(told, TellCaller)
    assert (told.url, told.message.type) == ("https://hooks.example/a", "job.failed")
    assert (told.message.data.job_id, told.message.data.code) == (job_id, "lost")
    assert told.message.data.labels == {"user": "ada"}
    assert told.message.data.links == {"job": f"/v1/jobs/{job_id}"}
    assert picture.record.owner == "key-1"
    assert world.board.picture(job_id).record.deliveries == (bell.job_id,)
    world.let_pass(60)
    assert [bell for bell in sweep(world.ports) if bell.job_id != picture.record.job_id] == []


def test_a_search_of_several_collections_is_told_of(world: World) -> None:
    search = Search(query="ships?", branches=("reports/a", "messages/b"))
    job_id, _ = world.board.submit(search, CALLED)
    world.board.settle(job_id, Verdict("failed", reason="r"))
    (bell,) = [bell for bell in sweep(world.ports) if bell.job_id != job_id]
    told = world.board.picture(bell.job_id).request
    assert isinstance(told, TellCaller)
    assert (told.collection, told.message.data.collection) == ("a,b", "a,b")


def test_a_sweeper_that_dies_in_between_submits_one_job(world: World) -> None:
    job_id, _ = world.board.submit(EMBED, CALLED)
    world.board.settle(job_id, Verdict("done", result="{}"))
    (due,) = [due for due in world.board.due() if due.callback]
    first, second = call_back(due, world.ports), call_back(due, world.ports)
    assert (len(first), second) == (1, [])
    assert world.board.picture(job_id).record.deliveries == (first[0].job_id,)


@pytest.mark.parametrize("noted", ["no JSON", "{}", '{"job_id": 1}'])
def test_what_cannot_be_read_is_dropped(world: World, noted: str) -> None:
    key = "qm:{a}:callbacks"
    world.board._client.zadd(key, {noted: 0})  # as another program would
    assert sweep(world.ports) == []
    assert not world.board._client.exists(key)  # as above


def test_a_due_callback_names_its_shard(world: World) -> None:
    job_id, _ = world.board.submit(EMBED, CALLED)
    world.board.settle(job_id, Verdict("cancelled"))
    (due,) = world.board.due()
    assert isinstance(due, Due)
    assert due.shard == job_id[0]
    assert all(isinstance(bell, Bell) for bell in call_back(due, world.ports))
