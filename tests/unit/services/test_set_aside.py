"""Listing refused texts, in memory."""

from querymill_shared.contracts.set_aside import ListSetAside, RefusedText, SetAsideResult
from tests.fixtures.embedded import INGESTS, PASSAGES, Choosy, Collection
from tests.fixtures.world import World


def listed(world: World, request: ListSetAside) -> SetAsideResult:
    result = world.result(world.run(request))
    assert isinstance(result, SetAsideResult)
    return result


def test_refused_texts_are_listed_page_by_page_and_counted(world: World) -> None:
    world.with_ports(embeddings=Choosy())
    for kind in INGESTS:
        Collection(kind, world).put(**{f"{kind}{number}.js": "poison" for number in range(3)})
    ids = [f"reports{number}.js" for number in range(3)]
    first = listed(world, ListSetAside(collection="c", of="reports", limit=2))
    assert [(text.of, text.document, text.model, text.reason) for text in first.texts] == [
        ("reports", id_, "words", "embedding refused: HTTP 400: too long") for id_ in ids[:2]
    ]
    assert first.total == 3
    second = listed(world, ListSetAside(collection="c", of="reports", limit=2, after=first.cursor))
    assert ([text.document for text in second.texts], second.cursor) == (ids[2:], None)
    everything = listed(world, ListSetAside(collection="c"))
    assert [text.of for text in everything.texts] == [
        kind for kind in sorted(INGESTS) for _ in range(3 * PASSAGES[kind])
    ]
    assert everything.total == 3 * sum(PASSAGES.values())
    pages, cursor = list[RefusedText](), None
    while page := listed(world, ListSetAside(collection="c", limit=2, after=cursor)):
        pages += page.texts
        cursor = page.cursor
        if cursor is None:
            break
    assert pages == list(everything.texts)
    assert listed(world, ListSetAside(collection="c", of="files")).total == 3
    assert listed(world, ListSetAside(collection="c", of="nobody")).total == 0
    assert listed(world, ListSetAside(collection="d")).texts == ()


def test_a_cursor_of_ones_own_is_refused(world: World) -> None:
    job_id = world.run(ListSetAside(collection="c", after='{"a": 1}'))
    record = world.board.picture(job_id).record
    assert (record.state, record.reason) == ("failed", "after: must be the cursor of an earlier result")
