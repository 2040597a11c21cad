"""100 questions at once under a provider's limit of 600 requests a minute: who finishes, and at what cost.

HyDE and three methods each, 30 % of the questions repeated, four worker processes. LangChain does the same
beside it, in its ordinary use: HyDE and three rewordings in parallel, each searched, retries as it sets them.
"""

import json
import os
import sys
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import redis

from querymill import IngestReports, JobFailed, Querymill, ReportSearch, Settings
from querymill_embedded import Program, StackPart, temporary_stack
from querymill_shared.contracts.expansion import MultiQueryMethod
from querymill_shared.contracts.reports.ingest import Report
from querymill_workers.inference.prompts import turns
from querymill_workers.postgres.migrate import migrate
from tests.benchmarks import harness
from tests.benchmarks.fleet import free_port, provider, worker, workers_ready
from tests.benchmarks.provider import REQUESTS_PER_MINUTE, TOKENS_PER_MINUTE
from tests.fixtures.deployment import finished

QUESTIONS, UNIQUE = 100, 70
MULTI_QUERY: tuple[MultiQueryMethod, ...] = ("synonym", "subquestion", "variant")
METHODS = ("hyde", *MULTI_QUERY)
PROCESSES = 4
DEADLINE_S = 240
TARGETS = {
    "finished": ("==", 100.0),
    "http_429": ("==", 0.0),
    "texts_per_unique_text": ("==", 1.0),
    "chat_calls_per_unique": ("==", 1.0),
    "utilisation": (">=", 0.95),
}
PEER = "langchain_openai"
PEER_FIGURES = tuple(
    f"langchain_{name}" for name in ("finished", "http_429", "chat_calls", "embedding_calls", "seconds")
)


def main() -> int:
    """Start servers and workers once; measure ours and LangChain in turn."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    environment = {
        "OPENAI_BASE_URL": f"{url}/v1",
        "EMBEDDING_MODEL": "multilingual-e5-small",
        "CHAT_MODEL": "scripted",
        "CHAT_RPM": str(REQUESTS_PER_MINUTE),
        "CHAT_TPM": str(TOKENS_PER_MINUTE),
        "EMBEDDING_RPM": str(REQUESTS_PER_MINUTE),
        "EMBEDDING_TPM": str(TOKENS_PER_MINUTE),
    }
    programs = [provider(port)]
    programs += [worker(f"worker{n}", "search,expand,ingest,embed", 130, environment) for n in range(PROCESSES)]
    with fleet(programs) as stack:
        settings = Settings(redis_url=stack.environment()["REDIS_URL"])
        workers_ready(settings.redis_url, PROCESSES)
        with Querymill(settings=settings) as mill:
            finished(mill, IngestReports(collection="bench", documents=(REPORT,)))
            return harness.run(
                "limits",
                lambda: measure(mill, settings.redis_url, url),
                TARGETS,
                harness.needing(PEER, PEER_FIGURES),
            )


@contextmanager
def fleet(programs: Sequence[Program]) -> Any:
    """Run Valkey, PostgreSQL, the provider and the workers."""

    def prepare(environment: Mapping[str, str]) -> None:
        migrate(environment["DATABASE_URL"])

    with temporary_stack(parts={StackPart.VALKEY, StackPart.POSTGRES}, programs=programs, prepare=prepare) as stack:
        yield stack


def measure(mill: Querymill, redis_url: str, url: str) -> harness.Figures:
    """Take every figure once: ours, then LangChain's, with the limit's bucket full before each."""
    run = uuid4().hex[:6]
    asked = [f"What about question {run}-{number % UNIQUE:04d}" for number in range(QUESTIONS)]
    forget(redis_url)
    seconds, finished = timed(lambda: ours(mill, asked), url)
    seen = figures(url)
    chat, embedding = seen["chat"], seen["embeddings"]
    return {
        "submitted": QUESTIONS,
        "finished": finished,
        "http_429": chat["http_429"] + embedding["http_429"],
        "chat_calls": chat["calls"],
        "unique_chat": chat["unique"],
        "chat_calls_per_unique": chat["calls"] / chat["unique"],
        "embedding_calls": embedding["calls"],
        "texts_embedded": embedding["asked"],
        "unique_texts": embedding["unique"],
        "texts_per_unique_text": embedding["asked"] / embedding["unique"],
        "texts_per_call": embedding["asked"] / embedding["calls"],
        "utilisation": chat["calls"] / (REQUESTS_PER_MINUTE / 60 * chat["span_s"]),
        "seconds": seconds,
        **beside(url, asked),
    }


def beside(url: str, asked: Sequence[str]) -> harness.Figures:
    """Measure LangChain on the same questions; nothing where it is not installed."""
    if not harness.is_installed(PEER):
        return {}
    seconds, finished = timed(lambda: langchain(f"{url}/v1", asked), url)
    seen = figures(url)
    return {
        "langchain_finished": finished,
        "langchain_http_429": seen["chat"]["http_429"] + seen["embeddings"]["http_429"],
        "langchain_chat_calls": seen["chat"]["calls"],
        "langchain_embedding_calls": seen["embeddings"]["calls"],
        "langchain_seconds": seconds,
    }


def ours(mill: Querymill, asked: Sequence[str]) -> int:
    """Hand all questions over at once; count those answered with every branch."""

    def one(question: str) -> bool:
        request = ReportSearch(
            query=question, collection="bench", hyde=True, multi_query=MULTI_QUERY, deadline=DEADLINE_S
        )
        try:
            return mill.submit(request).result(timeout=DEADLINE_S + 10).complete
        except JobFailed:
            return False

    with ThreadPoolExecutor(len(asked)) as pool:
        return sum(pool.map(one, asked))


def langchain(base_url: str, asked: Sequence[str]) -> int:
    """Do the same with LangChain; count the questions that raised nothing."""
    from langchain_core.runnables import RunnableLambda, RunnableParallel
    from langchain_core.vectorstores import InMemoryVectorStore
    from langchain_openai import ChatOpenAI, OpenAIEmbeddings

    model = ChatOpenAI(model="scripted", base_url=base_url, api_key="k", temperature=0)
    # Without this switch the library fetches a tokeniser from the network.
    embedding = OpenAIEmbeddings(model="m", base_url=base_url, api_key="k", check_embedding_ctx_length=False)
    store = InMemoryVectorStore(embedding)
    store.add_texts([page.text for page in REPORT.pages])

    def expand(method: str) -> Any:
        prompt = RunnableLambda(lambda question: [(t["role"], t["content"]) for t in turns(method, question, {})])
        return prompt | model | RunnableLambda(lambda reply: store.similarity_search(reply.content, k=3))

    chain = RunnableParallel(
        original=RunnableLambda(lambda question: store.similarity_search(question, k=3)),
        **{method: expand(method) for method in METHODS},
    )
    answers = chain.batch(list(asked), config={"max_concurrency": len(asked)}, return_exceptions=True)
    return sum(not isinstance(answer, Exception) for answer in answers)


def timed(run: Callable[[], int], url: str) -> tuple[float, int]:
    """Run with a fresh provider; seconds and what was returned."""
    urllib.request.urlopen(urllib.request.Request(f"{url}/reset", method="POST")).close()
    started = time.perf_counter()
    finished = run()
    return time.perf_counter() - started, finished


def figures(url: str) -> dict[str, Any]:
    """Ask the provider what came."""
    with urllib.request.urlopen(f"{url}/figures") as answer:
        told: dict[str, Any] = json.load(answer)
    return told


def forget(redis_url: str) -> None:
    """Empty the budget's buckets of what the last repeat left, so that every repeat begins alike."""
    with redis.Redis.from_url(redis_url) as client:
        for key in client.scan_iter("qm:account:*"):
            client.delete(key)


REPORT = Report.model_validate({
    "sha1": "r", "title": "Report", "company": "Acme", "period": "2022",
    "pages": [{"page": n, "text": f"page {n} of the report: revenue and cost of part {n}"} for n in range(20)],
})  # fmt: skip


if __name__ == "__main__":
    os.environ.pop("OPENAI_API_KEY", None)
    sys.exit(main())
