"""Fifty questions over a mixed collection: ``python -m tests.quality.measure_mixed SET PDFS``.

The collection: the filings in PDFS as they are read, two press releases of SET (`financebench_pages`), and the five
documents of `mixed_documents.tsv`, written for this with invented names. `mixed_questions.tsv` has a sort, the pages
that answer (numbered from 1, one of each side; none if nothing answers), and the question. Searches are by default, in
memory, where a vector is made of words.
"""

import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from querymill import IngestReports, ReportResult, ReportSearch
from querymill.testing import MemoryMill
from querymill_evaluation.sets import read_parts
from querymill_reading.process import FileReader
from querymill_shared.contracts.reports.ingest import Report, ReportPage

FOLDER: Final = Path(__file__).parent
RELEASES: Final = ("MGMRESORTS_2022Q4_EARNINGS", "PEPSICO_2023Q1_EARNINGS")
#: A question is answered if a page of each of its sides is among so many hits.
SHOWN: Final = 6


def main() -> None:
    """Print how many questions of each sort are answered, and those that are not."""
    asked, answered = Counter[str](), Counter[str]()
    with MemoryMill() as mill:
        for report in _reports(Path(sys.argv[1]), Path(sys.argv[2])):
            mill.submit(IngestReports(collection="mixed", documents=(report,))).result(timeout=60)
        for line in (FOLDER / "mixed_questions.tsv").read_text(encoding="utf-8").splitlines():
            sort, sides, text = line.split("\t")
            search = ReportSearch(query=text, collection="mixed", return_parent_pages=True)
            result = mill.submit(search).result(timeout=60)
            asked[sort] += 1
            answered[sort] += (is_found := _is_answered(result, sides))
            if not is_found:
                found = [f"{hit.document}:{hit.page}" for hit in result.results[:SHOWN]]
                print(f"{sort}: {text}\n    wanted {sides}, found {found}")
    print("\n| sort | questions | answered |\n|---|---|---|")
    print("\n".join(f"| {sort} | {count} | {answered[sort]} |" for sort, count in asked.items()))
    print(f"| all | {asked.total()} | {answered.total()} |")


def _is_answered(result: ReportResult, sides: str) -> bool:
    if not sides:
        return not result.results or bool(result.degraded)
    found = {(hit.document, hit.page) for hit in result.results[:SHOWN]}
    wanted = [side.split(":") for side in sides.split(";")]
    return all(any((name, int(page)) in found for page in pages.split(",")) for name, pages in wanted)


def _reports(folder: Path, pdfs: Path) -> Iterator[Report]:
    corpus = read_parts(folder)[2]
    described = {page["metadata"]["doc_name"]: page["metadata"] for page in corpus}
    with FileReader() as reader:
        for path in sorted(pdfs.glob("**/*.pdf")):
            if path.stem in described:
                pages = {page.number: page.text for page in reader.read(path).pages}
                yield _report(path.stem, described[path.stem]["company"], str(described[path.stem]["year"]), pages)
    for name in RELEASES:
        pages = {page["metadata"]["page"] + 1: page["text"] for page in corpus if page["metadata"]["doc_name"] == name}
        yield _report(name, described[name]["company"], str(described[name]["year"]), pages)
    for line in (FOLDER / "mixed_documents.tsv").read_text(encoding="utf-8").splitlines():
        name, company, period, title, *texts = line.replace("\\n", "\n").split("\t")
        yield _report(name, company, period, dict(enumerate(texts, 1)), title)


def _report(name: str, company: str, period: str, pages: dict[int, str], title: str = "") -> Report:
    written = tuple(ReportPage(page=number, text=text) for number, text in sorted(pages.items()) if text.strip())
    return Report(sha1=name, title=title or name, company=company or None, period=period or None, pages=written)


if __name__ == "__main__":
    main()
