"""What jobs cost: in their results, over HTTP, in the console and on the command line, all from the same sums."""

import json
from collections.abc import Iterator
from contextlib import closing

import httpx
import pytest

from querymill import Querymill, Settings
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.embed import EmbedTexts, TextToEmbed
from tests.fakes.worker import WorkerProcess
from tests.fixtures.boards import let_pass
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere


@pytest.fixture
def priced(deployment: Deployment) -> Iterator[dict[str, str]]:
    """The environment of a fleet with prices, and with a board whose clock a test may move on."""
    with temporary_stack(parts={StackPart.VALKEY}) as stack:
        prices = {deployment.settings.embedding_model: {"input": 2}}
        yield deployment.environment | {
            "REDIS_URL": stack.environment()["REDIS_URL"],
            "QUERYMILL_PRICES": json.dumps(prices),
            "QUERYMILL_CURRENCY": "EUR",
        }


def texts(*ids: str) -> EmbedTexts:
    return EmbedTexts(collection="filings", texts=tuple(TextToEmbed(id=id_, text=f"ship {id_}") for id_ in ids))


@pytest.mark.usefixtures("openai_server")
def test_a_job_costs_what_its_own_calls_took_and_the_sums_are_by_day(priced: dict[str, str]) -> None:
    # Only workers know the prices.
    told = {name.lower(): value for name, value in priced.items() if name != "QUERYMILL_PRICES"}
    settings = Settings.model_validate(told)
    model = settings.embedding_model
    with (
        closing(ValkeyBoard.connect(settings)) as board, Querymill(settings=settings) as mill,
        WorkerProcess(priced, threads=4, name="a"), GatewayHere(settings) as gateway,
    ):  # fmt: skip
        first = mill.submit(texts("1", "2", "3")).result(timeout=PATIENCE_S)
        paid = ModelCost(model=model, calls=1, input_tokens=3, output_tokens=0, cost_nanos=6_000, currency="EUR")
        assert first.costs == (paid,)
        again = mill.submit(texts("1", "2", "3")).result(timeout=PATIENCE_S)
        assert again.costs == ()
        let_pass(board, 86_400)
        mill.submit(texts("4")).result(timeout=PATIENCE_S)
        found = httpx.get(f"{gateway.url}/v1/costs", params={"days": 2}, timeout=PATIENCE_S).json()["sums"]
        spent = [(sums["by"], sums["name"], [cost["cost_nanos"] for cost in sums["costs"]]) for sums in found]
        assert spent == [
            ("model", "", [2_000]), ("collection", "filings", [2_000]),
            ("model", "", [6_000]), ("collection", "filings", [6_000]),
        ]  # fmt: skip
        assert len({sums["day"] for sums in found}) == 2
        assert "EUR 0.000008" in httpx.get(f"{gateway.url}/console", timeout=PATIENCE_S).text
        querymill = CommandLine(priced)
        assert "EUR 0.000008" in querymill("costs", "--by", "collection").stdout
        assert json.loads(querymill("costs", "--days", "2", "--json").stdout) == {"sums": found}
