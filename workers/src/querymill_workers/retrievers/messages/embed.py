"""How the passages of sessions are embedded."""

from typing import Final

from querymill_workers.vectors.embedding import Embeddable

EMBEDDABLE: Final = Embeddable("messages", batch=16)
