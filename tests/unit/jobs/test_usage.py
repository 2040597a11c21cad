from hypothesis import given
from hypothesis import strategies as st

from querymill_workers.jobs.usage import ProviderUsage

usages = st.builds(ProviderUsage, st.integers(0, 10**6), st.integers(0, 10**9))


def test_counts_bear_the_names_that_notes_and_results_have() -> None:
    assert ProviderUsage(2, 30).noted() == {"provider_calls": 2, "tokens": 30}


@given(usages, usages, usages)
def test_usage_adds_up_in_any_order_from_nothing(
    first: ProviderUsage, second: ProviderUsage, third: ProviderUsage
) -> None:
    assert (first + second) + third == first + (second + third) == third + second + first
    assert ProviderUsage() + first == first
