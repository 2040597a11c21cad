import pytest

from querymill_workers.inference.profiles import profile_of


def test_a_known_model_brings_its_dimensions() -> None:
    assert profile_of("multilingual-e5-small").dimensions == 384
    assert profile_of("multilingual-e5-small").asymmetric


def test_an_unknown_model_needs_its_dimensions() -> None:
    with pytest.raises(ValueError, match="QUERYMILL_EMBEDDING_DIMENSIONS"):
        profile_of("own-model")
    assert profile_of("own-model", dimensions=7).dimensions == 7
