import pytest

from querymill_shared.settings import Settings
from querymill_workers import wiring
from querymill_workers.inference.profiles import profile_of


def test_a_known_model_brings_its_dimensions() -> None:
    assert profile_of("multilingual-e5-small").dimensions == 384
    assert profile_of("multilingual-e5-small").asymmetric


def test_an_unknown_model_needs_its_dimensions() -> None:
    with pytest.raises(ValueError, match="QUERYMILL_EMBEDDING_DIMENSIONS"):
        profile_of("own-model")
    assert profile_of("own-model", dimensions=7).dimensions == 7


def test_the_model_before_may_have_another_dimension() -> None:
    named = {"embedding_model": "e5-newer", "querymill_embedding_dimensions": 384}
    before = Settings.model_validate(named | {"querymill_previous_embedding_model": "own-model"})
    profile = wiring.previous_profile(before)
    assert (profile and profile.model, profile and profile.dimensions) == ("own-model", 384)
    set_too = before.model_copy(update={"querymill_previous_embedding_dimensions": 1024})
    assert wiring.previous_profile(set_too) == profile_of("own-model", dimensions=1024)
    wider = wiring.previous_profile(
        Settings.model_validate(named | {"querymill_previous_embedding_model": "text-embedding-3-small"})
    )
    assert wider is not None
    assert wider.dimensions == 1536
    assert wiring.previous_profile(Settings.model_validate(named)) is None
