"""Ends that were heard before anybody waited: at every moment, whoever registered gets the end or knows to ask."""

from hypothesis import given
from hypothesis import strategies as st

from querymill.early_ends import MOST, EarlyEnds, Registration
from querymill.waits import Heard

#: A job is registered, ends, is waited for, many others end, or the listener begins again.
ACTS = st.lists(st.tuples(st.sampled_from(["register", "end", "wait", "flood", "cut"]), st.integers(0, 3)), max_size=40)


class World:
    """Jobs in four places, one after the other in each, and what is known to have been heard."""

    def __init__(self) -> None:
        self.early = EarlyEnds()
        self.registered: dict[int, tuple[str, Registration]] = {}
        self.ended: set[str] = set()
        self.jobs = 0

    def register(self, place: int) -> None:
        self.jobs += 1
        self.registered[place] = f"job {self.jobs}", self.early.register("watcher")

    def end(self, place: int) -> None:
        job_id, _ = self.registered.get(place, ("", None))
        if job_id and job_id not in self.ended:
            self.early.keep(job_id, Heard(()))
            self.ended.add(job_id)

    def wait(self, place: int) -> None:
        job_id, registration = self.registered.pop(place, ("", None))
        if registration is not None and self.early.has_all_since(registration):
            assert (self.early.take(job_id) is not None) == (job_id in self.ended)

    def flood(self, _: int) -> None:
        for other in range(MOST + 1):
            self.early.keep(f"other {other}", Heard(()))

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
        early.keep(f"job {number}", Heard(()))
    assert early.has_all_since(first)
    second = early.register("watcher")
    early.keep("one more", Heard(()))
    assert not early.has_all_since(first)  # its end may have been the one that was dropped
    assert early.has_all_since(second)
    assert early.take("job 0") is None
    assert early.take("one more") is not None
