"""An embedding server that computes a few requests at a time, each as long as its texts."""

import threading
import time
from typing import Any

from querymill_workers.text.tokens import estimate
from tests.fakes.openai_server import Answer, embedded


class FewAtATime:
    """Embeds by words. Requests beyond ``most`` wait inside the server, as they would inside a real one."""

    def __init__(self, *, most: int = 2, s_per_token: float = 0.001, least_s: float = 0.01) -> None:
        self._free = threading.Semaphore(most)
        self._s_per_token = s_per_token
        self._least_s = least_s
        self._lock = threading.Lock()
        self.inside = 0
        self.most_inside = 0
        self.sizes: list[int] = []

    def __call__(self, request: dict[str, Any]) -> Answer:
        """Answer a request when it is its turn."""
        tokens = sum(estimate(text) for text in request["input"])
        with self._lock:
            self.sizes.append(tokens)
            self.inside += 1
            self.most_inside = max(self.most_inside, self.inside)
        with self._free:
            time.sleep(self._least_s + tokens * self._s_per_token)
        with self._lock:
            self.inside -= 1
        return embedded(request)
