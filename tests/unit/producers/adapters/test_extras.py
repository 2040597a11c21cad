"""The libraries of the adapters are extras: an adapter whose library is missing says how to get it."""

import sys

import pytest

from querymill.install_hints import install_hint


@pytest.mark.parametrize(
    ("adapter", "library", "said"),
    [
        ("langchain", "langchain_core", "langchain-core is not installed; " + install_hint("langchain")),
        ("llama_index", "llama_index", "llama-index-core is not installed; " + install_hint("llama-index")),
        ("haystack", "haystack", "haystack-ai is not installed; " + install_hint("haystack")),
    ],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    adapter: str, library: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # None in sys.modules is how Python itself marks a module as one that cannot be imported.
    for loaded in [name for name in sys.modules if name.split(".")[0] == library]:
        monkeypatch.delitem(sys.modules, loaded)
    monkeypatch.delitem(sys.modules, f"querymill.adapters.{adapter}", raising=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError) as missing:
        __import__(f"querymill.adapters.{adapter}")
    assert str(missing.value) == said
