"""The contracts that guard the walls: each is broken by an import that it is there to refuse."""

import tomllib
from copy import deepcopy
from pathlib import Path
from typing import Any

import grimp
import pytest
from importlinter import configuration
from importlinter.application import use_cases
from importlinter.domain.contract import registry

ROOT = Path(__file__).parents[2]
W = "querymill_workers"

#: For each contract, an import that nobody may write: who imports, and what.
SEEDS = {
    "Producers and workers meet only in shared": ("querymill.client.mill", f"{W}.wiring"),
    "Workers know neither producers nor the embedded stack": (f"{W}.wiring", "querymill.client.mill"),
    "The embedded stack knows neither producers nor workers": ("querymill_embedded.stack", f"{W}.wiring"),
    "Shared depends on nobody, and on no driver but the board's": (
        "querymill_shared.queues",
        "celery",
    ),
    "Producers are light: no database driver, no model client, no evaluation": ("querymill.client.mill", "psycopg"),
    "Evaluation knows the client, never the workers": ("querymill_evaluation.sets", f"{W}.wiring"),
    "Workers are layered": (f"{W}.jobs.bell", f"{W}.dispatch.journey"),
    "No retriever knows another": (f"{W}.retrievers.reports.search", f"{W}.retrievers.files.ports"),
    "Each flat is layered": (f"{W}.retrievers.messages.ingest", f"{W}.retrievers.messages.stores.memory"),
    "A search of files reads downwards": (f"{W}.retrievers.files.search.recall", f"{W}.retrievers.files.search.judge"),
    "A search of conversations reads downwards": (
        f"{W}.retrievers.conversations.search.understand",
        f"{W}.retrievers.conversations.search.recall",
    ),
    "A search of modules reads downwards": (
        f"{W}.retrievers.modules.search.recall",
        f"{W}.retrievers.modules.search.judge",
    ),
    "A search of messages reads downwards": (
        f"{W}.retrievers.messages.search.recall",
        f"{W}.retrievers.messages.search.choose",
    ),
    "A search of reports reads downwards": (
        f"{W}.retrievers.reports.search.recall",
        f"{W}.retrievers.reports.search.ranking",
    ),
    "Rules are pure: no clock, chance, logs, settings or I/O": (f"{W}.retrievers.reports.rules.fusion", "redis"),
    "Celery only in the glue": (f"{W}.retrievers.files.search", "celery"),
    "MCP is known where it is spoken": ("querymill.agents.tools.search", "mcp"),
    "The client over HTTP knows no board": ("querymill.client.http.transport", "redis"),
    "HTTPX is known by the client over HTTP, by models and by callbacks": ("querymill.client.mill", "httpx2"),
    "Adapters know the client alone": ("querymill.adapters.searching", "querymill.agents.found"),
    "Nothing knows the adapters": ("querymill.client.mill", "querymill.adapters.searching"),
    "Haystack is known by its adapter alone": ("querymill.adapters.langchain", "haystack"),
    "LangChain is known by its adapter alone": ("querymill.adapters.haystack", "langchain_core"),
    "LlamaIndex is known by its adapter alone": ("querymill.adapters.searching", "llama_index"),
    "Producers are layered": ("querymill.ingesting.submitting", "querymill.client.job"),
    "Reading documents knows nothing else of ours": ("querymill_reading.reports", "querymill.ingesting.submitting"),
    "Histories know nothing else of ours": ("querymill_histories.rows", "querymill.ingesting.submitting"),
    "Rules of histories are pure": ("querymill_histories.rules.times", "sqlite3"),
    "Rules of reading are pure": ("querymill_reading.rules.tables", "zipfile"),
    "The engines of documents are imported by their formats only": ("querymill_reading.process", "pypdfium2"),
    "On the command line, no kind knows another": (
        "querymill.cli.kinds.reports.demo",
        "querymill.cli.kinds.files.demo",
    ),
    "On its way in, no kind knows another": ("querymill.ingesting.kinds.reports", "querymill.ingesting.kinds.files"),
    "No cycles": (f"{W}.text.stemming", f"{W}.text.words"),
}


@pytest.fixture(scope="module")
def options() -> Any:
    configuration.configure()
    read = use_cases.read_user_options(str(ROOT / "pyproject.toml"))
    use_cases._register_contract_types(read)
    return read


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    linted = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    first, *others = linted["root_packages"]
    return grimp.build_graph(first, *others, include_external_packages=True, exclude_type_checking_imports=True)


def kept(options: Any, name: str, graph: grimp.ImportGraph) -> bool:
    (chosen,) = (contract for contract in options.contracts_options if contract["name"] == name)
    contract = registry.get_contract_class(chosen["type"])(name, options.session_options, chosen)
    return bool(contract.check(graph=deepcopy(graph), verbose=False).kept)


def test_every_contract_has_a_seed(options: Any) -> None:
    assert {contract["name"] for contract in options.contracts_options} == set(SEEDS)


@pytest.mark.parametrize("name", SEEDS)
def test_a_contract_is_kept_until_somebody_breaks_it(options: Any, graph: grimp.ImportGraph, name: str) -> None:
    assert kept(options, name, graph)
    seeded = deepcopy(graph)
    importer, imported = SEEDS[name]
    seeded.add_import(importer=importer, imported=imported)
    assert not kept(options, name, seeded)
