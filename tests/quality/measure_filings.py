"""Filings from PDF beside the page texts of a set: ``python -m tests.quality.measure_filings SET PDFS``.

SET is `financebench_pages`, PDFS a folder with filings of it. Each question about one of these filings is asked twice,
of all pages that were read and of all pages of the set, in memory, and once more with its filing given. In memory a
vector is made of words, so this measures the words of what was read.

The set asks seven questions about them. `filing_questions.tsv` has thirty more, written for this: a filing, the pages
that answer (numbered from 1), and the question. They are asked of the engine's plain text as well.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pypdfium2

from querymill import IngestReports, Querymill, ReportSearch
from querymill.testing import MemoryMill
from querymill_evaluation.measures import measure_run
from querymill_evaluation.sets import SetQuery, read_parts
from querymill_reading.process import FileReader
from querymill_shared.contracts.reports.ingest import Report, ReportPage

TOP_N: Final = 10
QUESTIONS: Final = Path(__file__).with_name("filing_questions.tsv")


def main() -> None:
    """Print a table in Markdown."""
    folder, pdfs = Path(sys.argv[1]), {path.stem: path for path in Path(sys.argv[2]).glob("**/*.pdf")}
    qrels, queries, corpus = read_parts(folder)
    texts = _texts_of_set(corpus, set(pdfs))
    asked = [query for query in queries if query.metadata["doc_name"] in texts]
    judged = {query.query_id: qrels[query.query_id] for query in asked}
    with FileReader() as reader:
        read = {name: _texts_of_pdf(reader, pdfs[name]) for name in texts}
    rows = []
    for name, pages in (("read from PDF", read), ("page texts of the set", texts)):
        figures = [_measured(pages, asked, judged, routed=routed) for routed in (False, True)]
        rows.append(f"| {name} | {sum(map(len, pages.values()))} | " + " | ".join(f"{each:.3f}" for each in figures))
    print(f"{len(texts)} filings, {len(asked)} questions\n")
    print("| pages | number | all filings, nDCG@10 | filing given, nDCG@10 |\n|---|---|---|---|")
    print("\n".join(f"{row} |" for row in rows))
    own, own_judged = _own_questions()
    plain = {name: _plain_texts(pdfs[name]) for name in texts}
    print(f"\n{len(own)} questions of our own\n")
    print("| pages | all filings, nDCG@10 | filing given, nDCG@10 |\n|---|---|---|")
    for name, pages in (("read from PDF", read), ("page texts of the set", texts), ("plain text of the engine", plain)):
        figures = [_measured(pages, own, own_judged, routed=routed) for routed in (False, True)]
        print(f"| {name} | " + " | ".join(f"{each:.3f}" for each in figures) + " |")


def _own_questions() -> tuple[list[SetQuery], dict[str, dict[str, int]]]:
    asked, judged = [], {}
    for number, line in enumerate(QUESTIONS.read_text(encoding="utf-8").splitlines()):
        name, pages, text = line.split("\t")
        asked.append(SetQuery(f"own-{number}", text, {"doc_name": name}))
        judged[f"own-{number}"] = {f"{name}/p{int(page) - 1}": 1 for page in pages.split(",")}
    return asked, judged


def _plain_texts(path: Path) -> dict[int, str]:
    """Return the pages of a file as the engine alone gives them, numbered from 0."""
    document = pypdfium2.PdfDocument(path)
    return {at: text for at, page in enumerate(document) if (text := page.get_textpage().get_text_bounded()).strip()}


def _texts_of_set(corpus: Sequence[Mapping[str, Any]], names: set[str]) -> dict[str, dict[int, str]]:
    texts: dict[str, dict[int, str]] = {}
    for page in corpus:
        name = page["metadata"]["doc_name"]
        if name in names and page["text"].strip():
            texts.setdefault(name, {})[page["metadata"]["page"]] = page["text"]
    return texts


def _texts_of_pdf(reader: FileReader, path: Path) -> dict[int, str]:
    """Return the pages of a file, numbered from 0 as in the set."""
    return {page.number - 1: page.text for page in reader.read(path).pages}


def _measured(
    filings: Mapping[str, Mapping[int, str]],
    asked: Sequence[SetQuery],
    judged: Mapping[str, Mapping[str, int]],
    *,
    routed: bool,
) -> float:
    run = {}
    with MemoryMill() as mill:
        for name, pages in filings.items():
            _store(mill, name, pages)
        for query in asked:
            documents = (query.metadata["doc_name"],) if routed else tuple(filings)
            search = ReportSearch(
                query=query.text, collection="filings", documents=documents, return_parent_pages=True, top_n=TOP_N
            )
            hits = mill.submit(search).result(timeout=60).results
            run[query.query_id] = {f"{hit.document}/p{hit.page}": 1 / rank for rank, hit in enumerate(hits, 1)}
    return measure_run(run, judged)["ndcg@10"]


def _store(mill: Querymill, name: str, pages: Mapping[int, str]) -> None:
    """Store a filing under its name, which stands for its company too: both sides know no more of it."""
    written = tuple(ReportPage(page=number, text=text) for number, text in sorted(pages.items()))
    report = Report(sha1=name, title=name, company=name, pages=written)
    mill.submit(IngestReports(collection="filings", documents=(report,))).result(timeout=60)


if __name__ == "__main__":
    main()
