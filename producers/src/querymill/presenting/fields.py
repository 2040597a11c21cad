"""The fields of a hit that are passed on as metadata where hits are shown elsewhere."""

from typing import Any, Final

#: Fields of hits that stand elsewhere, or that are long: a job's own result has them all.
_LEFT_OUT: Final = {
    "text", "content", "snippet", "code", "description", "score", "rerank_score", "metadata", "explanation",
    "match_explanation", "channels", "marks", "document",
}  # fmt: skip


def fields_of(hit: Any) -> dict[str, Any]:
    """Return the short fields of a hit that have a value, such as ``page`` and ``similarity``, as JSON values."""
    shown: dict[str, Any] = hit.model_dump(mode="json", exclude_none=True, exclude=_LEFT_OUT)
    return shown
