"""How the passages of sessions are embedded."""

from typing import Final

from querymill_workers.retrievers.conversations.ports.sessions import KIND
from querymill_workers.vectors.embedding import Embeddable

EMBEDDABLE: Final = Embeddable(KIND, batch=16)
