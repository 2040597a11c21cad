"""Latency of a module search in its store at 100,000 documents, beside a scan by regular expression in the same run.

Documents are generated in the shape of real example code: about six modules each of a few hundred, some in nearly
every document, most in one of a hundred. A query names two of them, with the same chances. Measured are the calls
to the store (vocabulary, recall, what scoring reads, the code of the hits), in PostgreSQL.
"""

import random
import statistics
import sys
import time
from collections.abc import Callable

from querymill_embedded import StackPart, temporary_stack
from querymill_shared.contracts.modules.ingest import ModuleDocument
from querymill_shared.contracts.modules.search import CANDIDATES
from querymill_workers.jobs.revisions import Revision
from querymill_workers.postgres.connection import joined, open_pool, within
from querymill_workers.postgres.migrate import migrate
from querymill_workers.retrievers.modules.rules.names import analyze_query, last_segment
from querymill_workers.retrievers.modules.rules.scores import AskedPart
from querymill_workers.retrievers.modules.search.judge import rank
from querymill_workers.retrievers.modules.search.recall import candidates
from querymill_workers.retrievers.modules.search.understand import shares
from querymill_workers.retrievers.modules.stores.postgres import PostgresModules
from tests.benchmarks import harness

DOCUMENTS = 100_000
NAMES = 300
COLLECTION = "bench"
QUERIES, SCANS = 100, 2
#: Documents that are written at once.
SLICE = 1_000
TOP_K = 6
TARGETS = {"p50_ms_100k": ("<=", 20.0)}
SCAN = (
    "SELECT names FROM module_documents WHERE collection = %(collection)s"
    " AND EXISTS (SELECT FROM unnest(names) AS name WHERE name ~* %(ends)s) LIMIT %(limit)s"
)
WORDS = ("Cone", "Sphere", "Image", "Volume", "Poly", "Data", "Plane", "Point", "Line", "Scalar", "Color", "Transfer")
ROLES = ("Source", "Mapper", "Actor", "Reader", "Writer", "Filter", "Widget", "Function", "Manipulator", "Picker")


def main() -> int:
    """Fill the store once, measure as often as asked."""
    lot = random.Random(2_026)
    names = invented_names(lot)
    with temporary_stack(parts={StackPart.POSTGRES}) as stack:
        url = stack.environment()["DATABASE_URL"]
        migrate(url)
        with open_pool(url, max_size=2) as pool:
            store = PostgresModules(pool)
            filled = time.perf_counter()
            for start in range(0, DOCUMENTS, SLICE):
                written = [document(number, names, lot) for number in range(start, start + SLICE)]
                with joined(pool):
                    store.put(COLLECTION, [(one, Revision("1")) for one in written], record="")
            print(f"{DOCUMENTS} documents in {time.perf_counter() - filled:.0f} s", file=sys.stderr)

            def scan(first: str, second: str) -> None:
                values = {"ends": f"({first}|{second})$", "limit": CANDIDATES, "collection": COLLECTION}
                with within(pool, COLLECTION) as connection:
                    connection.execute(SCAN, values).fetchall()

            return harness.run("modules", lambda: measure(store, scan, names, lot), TARGETS)


def measure(
    store: PostgresModules, scan: Callable[[str, str], None], names: list[str], lot: random.Random
) -> harness.Figures:
    """Ask queries through the index, and a few by scanning."""
    indexed = [timed(lambda: search(store, *asked(names, lot))) for _ in range(QUERIES)]
    scans = [timed(lambda: scan(*asked(names, lot))) for _ in range(SCANS)]
    figures = {
        "p50_ms_100k": statistics.median(indexed),
        "p95_ms_100k": statistics.quantiles(indexed, n=20)[-1],
        "regex_scan_p50_ms_100k": statistics.median(scans),
    }
    return figures | {"regex_scan_times_slower": figures["regex_scan_p50_ms_100k"] / figures["p50_ms_100k"]}


def search(store: PostgresModules, first: str, second: str) -> None:
    """Do what the flow asks of the store for one query of two weighted parts."""
    store.vocabulary(COLLECTION)
    weighted = zip((first, second), (8.0, 3.0), shares([8.0, 3.0]), strict=True)
    parts = [AskedPart(name, weight, share, analyze_query(name)) for name, weight, share in weighted]
    keys = [module.key for part in parts for module in part.modules]
    recalled = store.recall(COLLECTION, keys, match="exact")
    summaries = store.describe(COLLECTION, candidates(recalled, parts, limit=CANDIDATES))
    best = rank(summaries, parts, match="exact")[:TOP_K]
    assert best, "every name is some document's"
    store.documents(COLLECTION, [hit.document for hit in best])


def timed(run: Callable[[], object]) -> float:
    """Milliseconds that a call takes."""
    started = time.perf_counter()
    run()
    return (time.perf_counter() - started) * 1000


def invented_names(lot: random.Random) -> list[str]:
    """Invent dotted names, the most frequent first."""
    found: dict[str, None] = {}
    while len(found) < NAMES:
        found.setdefault(f"vtk.Made.Up.vtk{''.join(lot.sample(WORDS, 2))}{lot.choice(ROLES)}")
    return list(found)


def chances(count: int) -> list[float]:
    """How often the names occur: a few in most documents, a long tail."""
    return [1 / (rank + 1) for rank in range(count)]


def document(number: int, names: list[str], lot: random.Random) -> ModuleDocument:
    """Invent a document: the two most frequent names nearly always, others by chance."""
    own = {*names[: lot.choice((1, 2, 2))], *lot.choices(names, weights=chances(len(names)), k=5)}
    description = " ".join(lot.choices([*WORDS, *ROLES], k=30))
    code = "\n".join(f"const part{n} = {last_segment(lot.choice(names))}.newInstance();" for n in range(40))
    meta_info = {"vtkjs_modules": sorted(own), "description": description}
    return ModuleDocument.model_validate({
        "faiss_id": number, "file_path": f"Examples/Made{number}/index.js", "code": code, "meta_info": meta_info,
    })  # fmt: skip


def asked(names: list[str], lot: random.Random) -> tuple[str, str]:
    """Choose two names to ask for: any but the two that nearly every document has."""
    first, second = lot.sample(names[2:], 2)
    return last_segment(first), last_segment(second)


if __name__ == "__main__":
    sys.exit(main())
