"""The world of a flow, for every unit test that asks for it."""

from tests.fixtures.world import fresh, world

__all__ = ["fresh", "world"]
