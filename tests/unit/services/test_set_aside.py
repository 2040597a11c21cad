"""Listing refused texts, in memory."""

from querymill_shared.contracts.set_aside import ListSetAside, RefusedText, SetAsideResult
from querymill_workers.set_aside.ports import AsideText
from tests.fixtures.embedded import INGESTS, Choosy, Collection
from tests.fixtures.world import World


def listed(world: World, request: ListSetAside) -> SetAsideResult:
    result = world.result(world.run(request))
    assert isinstance(result, SetAsideResult)
    return result


def test_refused_texts_are_listed_page_by_page_and_counted(world: World) -> None:
    texts = [AsideText("s", f"p{number}", "m", "HTTP 400") for number in range(3)]
    world.ports.set_aside.add("c", "messages", texts)
    world.with_ports(embeddings=Choosy())
    for kind in INGESTS:
        Collection(kind, world).put(**{f"{kind}.js": "poison"})
    first = listed(world, ListSetAside(collection="c", of="messages", limit=2))
    assert [(text.of, text.document, text.passage, text.model, text.reason) for text in first.texts] == [
        ("messages", "s", "p0", "m", "HTTP 400"), ("messages", "s", "p1", "m", "HTTP 400"),
    ]  # fmt: skip
    assert first.total == 3
    second = listed(world, ListSetAside(collection="c", of="messages", limit=2, after=first.cursor))
    assert [text.passage for text in second.texts] == ["p2"]
    assert second.cursor is None
    everything = listed(world, ListSetAside(collection="c"))
    assert [text.of for text in everything.texts] == sorted([*INGESTS, "messages", "messages", "messages"])
    assert everything.total == 3 + len(INGESTS)
    pages, cursor = list[RefusedText](), None
    while page := listed(world, ListSetAside(collection="c", limit=2, after=cursor)):
        pages += page.texts
        cursor = page.cursor
        if cursor is None:
            break
    assert pages == list(everything.texts)
    assert listed(world, ListSetAside(collection="c", of="files")).total == 1
    assert listed(world, ListSetAside(collection="c", of="nobody")).total == 0
    assert listed(world, ListSetAside(collection="d")).texts == ()


def test_a_cursor_of_ones_own_is_refused(world: World) -> None:
    job_id = world.run(ListSetAside(collection="c", after='{"a": 1}'))
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "after: must be the cursor of an earlier result")
