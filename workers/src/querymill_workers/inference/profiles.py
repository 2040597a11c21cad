"""Built-in profiles of embedding models."""

from querymill_shared.values import value


@value
class EmbeddingProfile:
    """An embedding model: the dimension of its vectors, the limits of one text and those of one request.

    ``max_text_tokens`` is the model's input. A longer text is cut to it before it is sent.

    An ``asymmetric`` model embeds queries and passages differently, so its server gets the field ``input_type``.
    Servers of other models reject that field.
    """

    model: str
    dimensions: int
    asymmetric: bool = False
    max_inputs: int = 256
    max_tokens: int = 100_000
    max_text_tokens: int = 8_191

    @property
    def max_bytes(self) -> int:
        """The size of a response that is read at most, in bytes: any way to write the numbers, and 1 MB around them."""
        return 1_000_000 + 64 * self.max_inputs * self.dimensions


_KNOWN = {
    profile.model: profile
    for profile in (
        # This model runs on local cores: small requests keep a question from waiting long behind passages.
        EmbeddingProfile(
            "multilingual-e5-small", 384, asymmetric=True, max_inputs=32, max_tokens=2_400, max_text_tokens=512
        ),
        EmbeddingProfile("text-embedding-3-small", 1536),
        EmbeddingProfile("text-embedding-3-large", 3072),
        EmbeddingProfile("text-embedding-ada-002", 1536),
    )
}


def profile_of(model: str, *, dimensions: int | None = None) -> EmbeddingProfile:
    """Return the built-in profile of a model, or one with the given dimensions.

    Raises:
        ValueError: The model has no built-in profile, and no dimensions are given.
    """
    if model in _KNOWN:
        return _KNOWN[model]
    if dimensions is None:
        known = ", ".join(sorted(_KNOWN))
        raise ValueError(
            f"EMBEDDING_MODEL: no built-in profile of {model!r} (known: {known}); set QUERYMILL_EMBEDDING_DIMENSIONS"
        )
    return EmbeddingProfile(model, dimensions)
