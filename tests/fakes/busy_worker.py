"""A worker whose threads hardly get a turn: two others compute without a pause."""

import threading

from querymill_workers.app import app

__all__ = ["app"]


def compute() -> None:
    while True:
        sum(range(10_000))


for _ in range(2):
    threading.Thread(target=compute, daemon=True).start()
