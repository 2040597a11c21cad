"""What jobs cost: in their results, over HTTP, in the console and on the command line, all from the same sums."""

import json
from collections.abc import Iterator
from contextlib import closing
from functools import partial

import httpx
import pytest

from querymill import Querymill, Settings
from querymill.client.job import Job
from querymill.keys import Keyring, Scope
from querymill_embedded import StackPart, temporary_stack
from querymill_shared.board import ValkeyBoard
from querymill_shared.contracts.costs import ModelCost
from querymill_shared.contracts.embed import EmbedResult, EmbedTexts, TextToEmbed
from querymill_shared.contracts.reports.search import ReportSearch
from querymill_shared.contracts.submit_options import SubmitOptions
from tests.fakes.worker import WorkerProcess
from tests.fixtures.boards import let_pass
from tests.fixtures.command_line import CommandLine
from tests.fixtures.deployment import Deployment
from tests.fixtures.gateways import PATIENCE_S, GatewayHere
from tests.fixtures.tallies import until


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
            ("model", "", [2_000]), ("key", "(no key)", [2_000]), ("collection", "filings", [2_000]),
            ("model", "", [6_000]), ("key", "(no key)", [6_000]), ("collection", "filings", [6_000]),
        ]  # fmt: skip
        assert len({sums["day"] for sums in found}) == 2
        assert "EUR 0.000008" in httpx.get(f"{gateway.url}/console", timeout=PATIENCE_S).text
        querymill = CommandLine(priced)
        assert "EUR 0.000008" in querymill("costs", "--by", "collection").stdout
        assert json.loads(querymill("costs", "--days", "2", "--json").stdout) == {"sums": found, "budgets": []}


@pytest.mark.usefixtures("openai_server")
def test_a_key_is_refused_once_its_budget_is_used_up_until_the_next_day(priced: dict[str, str]) -> None:
    told = {name.lower(): value for name, value in priced.items() if name != "QUERYMILL_PRICES"}
    settings = Settings.model_validate(told)
    with (
        closing(ValkeyBoard.connect(settings)) as board, closing(Keyring.connect(settings)) as keyring,
        Querymill(settings=settings) as mill,
        WorkerProcess(priced, threads=4, name="a"), GatewayHere(settings) as gateway,
    ):  # fmt: skip
        key, written = keyring.add("web", scopes=list(Scope), collections=["*"])
        _, other = keyring.add("other", scopes=list(Scope), collections=["*"])
        querymill = CommandLine(priced)
        assert "may spend EUR 0.00001 a day" in querymill("keys", "budget", key.id, "0.00001").stdout
        with closing(httpx.Client(base_url=gateway.url, timeout=PATIENCE_S)) as http:

            def ask(asked: EmbedTexts | ReportSearch, by: str = written) -> httpx.Response:
                body = asked.model_dump(mode="json")
                return http.post("/v1/jobs?wait=50", json=body, headers={"Authorization": f"Bearer {by}"})

            assert ask(texts(*"12345")).json()["costs"][0]["cost_nanos"] == 10_000
            refused = ask(texts("6"))
            assert (refused.status_code, refused.json()["code"]) == (429, "budget")
            assert "has spent EUR 0.00001 of EUR 0.00001 today" in refused.json()["detail"]
            assert 0 < int(refused.headers["Retry-After"]) <= 86_400
            assert ask(texts("6"), other).status_code == 200
            headers = {"Authorization": f"Bearer {written}"}
            listed = http.post("/v1/jobs", json={"kind": "list_documents", "retriever": "reports", "collection": "c"},
                               headers=headers)  # fmt: skip
            assert listed.status_code != 429
            found = http.get("/v1/costs", headers=headers).json()
            assert found["budgets"] == [
                {"key": key.id, "budget_nanos": 10_000, "spent_nanos": 10_000, "allows": "nothing",
                 "ends_in_s": pytest.approx(43_200, abs=43_200)}
            ]  # fmt: skip
            by_key = {sums["name"]: sums["costs"][0]["cost_nanos"] for sums in found["sums"] if sums["by"] == "key"}
            assert by_key == {key.id: 10_000, keyring.all()[1].id: 2_000}
            assert "EUR 0.00001 of EUR 0.00001 today" in querymill("keys", "list").stdout.replace("\n", "")
            let_pass(board, 86_400)
            assert ask(texts("7")).status_code == 200
            keyring.set_budget(key.id, 20_000)
            assert ask(texts(*"abcdefg")).json()["costs"][0]["cost_nanos"] == 14_000
            line = {"title": "Nordhav 2022", "pages": [{"page": 1, "text": "The fleet counts nine ships."}]}
            stored = http.post("/v1/collections/costly/reports?wait=50", json=line, headers={
                "Authorization": f"Bearer {other}", "Content-Type": "application/x-ndjson"})  # fmt: skip
            assert stored.json()["accepted"] == 1, stored.text
            found = ask(ReportSearch(query="How many ships?", collection="costly", hyde=True, deadline=30)).json()
            assert ("hyde", "budget") in [(gap["stage"], gap["code"]) for gap in found["degraded"]]
            assert {cost["model"] for cost in found["costs"]} <= {settings.embedding_model}
            assert found["results"]
            last = last_that_waits(mill, key.id)
            keyring.set_budget(key.id, 1_000_000)
            let_pass(board, 700)
            assert last.result(timeout=PATIENCE_S).costs[0].cost_nanos == 2_000


def is_over_or_waits(job: Job[EmbedResult]) -> bool:
    picture = job.picture()
    return picture.record.is_over or picture.steps[0].code is not None


def last_that_waits(mill: Querymill, key_id: str) -> Job[EmbedResult]:
    """Let a key spend the rest of its budget while its jobs run. Return the first one that waits for another day."""
    for id_ in "hijk":
        job = mill.submit_with(texts(id_), SubmitOptions().owned_by(key_id))
        until(partial(is_over_or_waits, job), within_s=PATIENCE_S)
        (step,) = job.picture().steps
        if step.code is not None:
            break
    assert (step.state, step.code) == ("waiting", "budget")
    assert "that of the API key is used up (EUR 0.00002 of EUR 0.00002 today)" in step.reason
    return job
