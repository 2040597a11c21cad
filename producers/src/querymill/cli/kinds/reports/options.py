"""The options of ``querymill search reports``."""

from datetime import datetime
from typing import Annotated, Any

import typer

from querymill.cli.options import Collection, Deadline, FilterOption, Json, LaneOption, Query, RequestFile, given


def options(
    query: Query = None,
    collection: Collection = None,
    request: RequestFile = None,
    top_n: Annotated[int | None, typer.Option(help="number of hits returned, 1 to 200")] = None,
    candidates: Annotated[int | None, typer.Option(help="passages fetched per query and document, 1 to 1000")] = None,
    hyde: Annotated[bool | None, typer.Option(help="search a hypothetical answer too")] = None,
    multi_query: Annotated[
        list[str] | None, typer.Option(help="synonym, subquestion, variant; may be repeated")
    ] = None,
    return_parent_pages: Annotated[bool | None, typer.Option(help="return pages, not passages")] = None,
    inner_factor: Annotated[float | None, typer.Option(help="weight of the inner product, above 0")] = None,
    company: Annotated[str | None, typer.Option(help="search this company's reports")] = None,
    period: Annotated[str | None, typer.Option(help="search this period's reports: 2022, FY2021 Q3")] = None,
    documents: Annotated[list[str] | None, typer.Option(help="search these reports (sha1); may be repeated")] = None,
    filter_: FilterOption = None,
    metadata: Annotated[bool | None, typer.Option(help="show the metadata of each report")] = None,
    today: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], help="today's date where you are, YYYY-MM-DD (default: today in UTC)"),
    ] = None,
    ranking: Annotated[
        str | None, typer.Option(help="hybrid: vectors and words joined (the default); agreement: vectors alone")
    ] = None,
    rerank: Annotated[bool | None, typer.Option(help="let a judge read the best hits, and order them by it")] = None,
    combine: Annotated[
        str | None, typer.Option(help="how relevance and similarity become a score: product, weighted")
    ] = None,
    glossary: Annotated[
        bool | None, typer.Option(help="search the words by which reports state the question's terms too (on)")
    ] = None,
    answer: Annotated[bool | None, typer.Option(help="let a chat model answer from the hits, citing them")] = None,
    judge: Annotated[bool | None, typer.Option(help="judge that answer: grounded, relevant, complete")] = None,
    answer_tokens: Annotated[int | None, typer.Option(help="longest answer, in tokens, 16 to 4000")] = None,
    passage_tokens: Annotated[int | None, typer.Option(help="tokens of the prompt that the hits may take")] = None,
    why_not: Annotated[
        str | None,
        typer.Option(help="say why this report, page or passage (ab12, ab12/page/3, ab12/chunk/7) is no hit"),
    ] = None,
    deadline: Deadline = None,
    lane: LaneOption = None,
    as_json: Json = False,
) -> dict[str, Any]:
    """Search reports; shows each branch live, then the hits and what their scores are made of."""
    return given(locals())
