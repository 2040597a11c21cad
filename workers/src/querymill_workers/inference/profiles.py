"""What we know of embedding models before we ask them anything."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EmbeddingProfile:
    """``dimensions`` of the vectors; ``asymmetric`` when queries and passages are embedded differently.

    An asymmetric model's server is told which it is by the field ``input_type``; others refuse that field.
    ``most_inputs`` and ``most_tokens`` bound one request.
    """

    model: str
    dimensions: int
    asymmetric: bool = False
    most_inputs: int = 256
    most_tokens: int = 100_000


_KNOWN = {
    profile.model: profile
    for profile in (
        # It runs on our own cores: a question should wait little behind a request of many passages.
        EmbeddingProfile("multilingual-e5-small", 384, asymmetric=True, most_inputs=32, most_tokens=2_400),
        EmbeddingProfile("text-embedding-3-small", 1536),
        EmbeddingProfile("text-embedding-3-large", 3072),
        EmbeddingProfile("text-embedding-ada-002", 1536),
    )
}


def profile_of(model: str, *, dimensions: int | None = None) -> EmbeddingProfile:
    """Look a model up, or make a profile of it from the dimensions given.

    Raises:
        ValueError: We know nothing of the model, and no dimensions are given.
    """
    if model in _KNOWN:
        return _KNOWN[model]
    if dimensions is None:
        known = ", ".join(sorted(_KNOWN))
        raise ValueError(
            f"EMBEDDING_MODEL: {model!r} is not known ({known}); set QUERYMILL_EMBEDDING_DIMENSIONS for it"
        )
    return EmbeddingProfile(model, dimensions)
