"""Ends that were heard before anybody waited: at every moment, whoever registered gets the end or knows to ask."""

from hypothesis import given
from hypothesis import strategies as st

from querymill.client.events.early_ends import KEEP_S, MOST, EarlyEnds, Registration
from querymill.client.events.waits import Heard

#: A job is registered, ends, is waited for, many others end, time passes, or the listener begins again.
WHAT = st.sampled_from(["register", "end", "wait", "flood", "age", "cut"])
ACTS = st.lists(st.tuples(WHAT, st.integers(0, 3)), max_size=40)


class World:
    """Jobs in four places, one after the other in each, and what is known to have been heard."""

    def __init__(self) -> None:
        self.early = EarlyEnds()
        self.registered: dict[int, tuple[str, Registration]] = {}
        self.ended: set[str] = set()
        self.jobs = 0
        self.now = 0.0

    def register(self, place: int) -> None:
        self.jobs += 1
        self.registered[place] = f"job {self.jobs}", self.early.register("watcher")

    def end(self, place: int) -> None:
        job_id, _ = self.registered.get(place, ("", None))
        if job_id and job_id not in self.ended:
            self.early.keep(job_id, Heard(()), now=self.now)
            self.ended.add(job_id)

    def wait(self, place: int) -> None:
        job_id, registration = self.registered.pop(place, ("", None))
        if registration is not None and self.early.has_all_since(registration):
            assert (self.early.take(job_id) is not None) == (job_id in self.ended)

    def flood(self, _: int) -> None:
        for other in range(MOST + 1):
            self.early.keep(f"other {other}", Heard(()), now=self.now)

    def age(self, halves: int) -> None:
        self.now += halves * KEEP_S / 2
        self.early.drop_old(self.now)
        assert all(self.now - heard_at <= KEEP_S for _, heard_at, _ in self.early._ends.values())

    def cut(self, _: int) -> None:
        self.early.drop_all()


@given(ACTS)
def test_an_end_that_was_heard_is_there_or_known_to_be_lost(acts: list[tuple[str, int]]) -> None:
    world = World()
    for act, place in acts:
        getattr(world, act)(place)
        assert len(world.early._ends) <= MOST


def test_the_latest_ends_are_kept() -> None:
    early = EarlyEnds()
    first = early.register("watcher")
    for number in range(MOST):
        early.keep(f"job {number}", Heard(()), now=0)
    assert early.has_all_since(first)
    second = early.register("watcher")
    early.keep("one more", Heard(()), now=0)
    assert not early.has_all_since(first)  # its end may have been the one that was dropped
    assert early.has_all_since(second)
    assert early.take("job 0") is None
    assert early.take("one more") is not None
