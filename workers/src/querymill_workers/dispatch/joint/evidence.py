"""What a hit says for itself: its text, as far as a result holds it, with what it is called."""

from typing import Final

from querymill_shared.contracts.kinds import KindHit

#: The fields of hits that say what was found. A kind has some of them; those of another kind are not there.
_TEXTS: Final = ("title", "name", "path", "file_path", "text", "content", "snippet", "description", "why")
_NAMES: Final = ("modules",)


def text_of(hit: KindHit) -> str:
    """Return what a hit says."""
    parts = [getattr(hit, name, None) for name in _TEXTS]
    parts += [" ".join(getattr(hit, name, ())) for name in _NAMES]
    return "\n".join(part for part in parts if isinstance(part, str) and part)
