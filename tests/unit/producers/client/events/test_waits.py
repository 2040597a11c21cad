"""The order of events: each once, whatever is told late, twice or never."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from querymill.client.events.waits import EventOrder, is_later
from querymill_shared.board import Seen, StreamedEvent

EVENTS = st.integers(min_value=1, max_value=12)


def event(number: int) -> StreamedEvent:
    # Ids of one millisecond differ in the second number.
    return StreamedEvent("job", f"{number // 3}-{number % 3}", number, "progress", str(number))


def look(order: EventOrder, written: int) -> Seen:
    """What the board replies when so many events were written."""
    new = tuple(event(number) for number in range(1, written + 1) if is_later(event(number).event_id, order.after))
    return Seen(new, written)


def numbers(told: Sequence[StreamedEvent]) -> list[int]:
    return [int(one.body) for one in told]


def test_ids_are_compared_as_numbers() -> None:
    assert is_later("10-0", "9-5")
    assert is_later("9-10", "9-9")
    assert not is_later("9-9", "9-9")


def test_what_is_told_before_the_first_reply_waits_for_it() -> None:
    order = EventOrder()
    assert order.told(event(3)) == []
    assert numbers(order.seen(look(order, 2))) == [1, 2, 3]
    assert order.is_caught_up


def test_a_missed_event_asks_for_another_look() -> None:
    order = EventOrder()
    order.seen(look(order, 1))
    assert order.told(event(3)) == []
    assert not order.is_caught_up
    assert numbers(order.seen(look(order, 3))) == [2, 3]


def test_after_the_oldest_events_were_trimmed_a_look_finds_the_way_again() -> None:
    order = EventOrder()
    order.seen(Seen((event(9),), 9))
    trimmed = StreamedEvent("job", event(10).event_id, 4, "progress", "10")
    assert order.told(trimmed) == []
    assert numbers(order.seen(Seen((trimmed,), 4))) == [10]
    assert numbers(order.told(StreamedEvent("job", event(11).event_id, 5, "progress", "11"))) == [11]


def test_a_board_that_went_back_is_followed_to_the_end() -> None:
    order = EventOrder()
    order.seen(Seen((event(6), event(9)), 2))
    end = StreamedEvent("job", event(7).event_id, 2, "done", "7")
    assert order.told(end) == []
    assert numbers(order.seen(Seen((event(6), end), 2))) == [7]


def test_a_board_that_went_back_may_give_an_id_again() -> None:
    order = EventOrder()
    order.seen(Seen((event(6), event(7), event(8)), 3))
    end = StreamedEvent("job", event(7).event_id, 2, "done", "7")
    assert order.seen(Seen((event(6), end), 2)) == [end]
    assert order.seen(Seen((event(6), end), 2)) == []


@given(st.data())
def test_every_event_comes_once_and_in_order(data: st.DataObject) -> None:
    """Events are told late, lost or told twice; looks are answered late. In the end, one look completes the picture."""
    total = data.draw(EVENTS)
    order, received, written, pending = EventOrder(), [], 0, None
    for _ in range(data.draw(st.integers(0, 40))):
        match data.draw(st.sampled_from(("write", "tell", "ask", "reply"))):
            case "write":
                written = min(written + 1, total)
            case "tell" if written:
                received += numbers(order.told(event(data.draw(st.integers(1, written)))))
            case "ask":
                pending = look(order, written)
            case "reply" if pending is not None:
                received += numbers(order.seen(pending))
                pending = None
            case _:
                pass
        assert received == list(range(1, len(received) + 1))
    received += numbers(order.seen(look(order, total)))
    assert received == list(range(1, total + 1))
