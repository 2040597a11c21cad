"""How each retriever is measured on a set: what is ingested, what is asked, and how a result is scored."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

from querymill.cli.exits import WrongUse
from querymill.client.mill import Querymill
from querymill.ingesting.jsonl import GoodLine, Lines
from querymill.ingesting.kinds import conversations as conversations
from querymill.ingesting.kinds import messages as messages
from querymill.ingesting.kinds import modules as modules
from querymill.ingesting.kinds import reports as reports
from querymill.ingesting.submitting import Parcel, pack
from querymill_evaluation.conversation_sets import asked_at, read_conversation_set
from querymill_evaluation.message_sets import filter_fields, read_message_set
from querymill_evaluation.module_sets import module_request, read_module_set
from querymill_evaluation.sets import Routing, SetQuery, read_report_set, routing_fields
from querymill_shared.contracts.conversations.ranks import RecomputeRanks
from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch
from querymill_shared.contracts.jobs import validate_request
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch
from querymill_shared.contracts.sessions import ChatSession

#: Number of hits that are requested and measured.
_DEPTH = 10
#: How conversations are searched if none of them has a time, unless options say otherwise: no question can mean one.
UNDATED = {"time_filter": False}


@dataclass(frozen=True, slots=True)
class Sample:
    """How much of a set is used; None means all.

    ``queries`` is the number of queries that are asked, the same each time. ``distractors`` is the number of pages
    of each report that are ingested in addition to the judged ones. ``sessions`` is the number of sessions ingested.
    """

    queries: int | None = None
    distractors: int | None = None
    sessions: int | None = None

    def refuse(self, *names: str) -> None:
        """Refuse the limits that a kind does not have.

        Raises:
            WrongUse: One of them is given.
        """
        for name in names:
            if getattr(self, name) is not None:
                raise WrongUse(f"--{name}: not for this kind")


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A set made ready for one kind.

    ``documents`` has those of each collection, which are ingested as ``lines`` of their kind.
    ``prepare_collection`` is called between ingesting and asking. ``scores`` maps the judged ids of a result to numbers
    that fall from hit to hit. ``groups`` names the group of each query, if the set has groups. ``figures`` gives what
    else the kind measures of a query; it is averaged over all queries.
    """

    name: str
    lines: Lines[Any]
    documents: Mapping[str, Sequence[Any]]
    requests: Sequence[tuple[str, KindSearch]]
    qrels: Mapping[str, Mapping[str, int]]
    groups: Mapping[str, str]
    scores: Callable[[Any], dict[str, float]]
    prepare_collection: Callable[[Querymill], object]
    figures: Callable[[str, Any], Mapping[str, float]] = lambda _, __: {}

    def parcels(self) -> list[Parcel]:
        """Return the jobs that ingest the documents."""
        return [
            parcel
            for collection, documents in self.documents.items()
            for parcel in pack(numbered(documents), self.lines.asking(collection))
        ]


def numbered(documents: Sequence[Any]) -> Iterator[GoodLine[Any]]:
    """Return documents as lines, with their sizes."""
    for number, document in enumerate(documents, start=1):
        yield GoodLine(number, len(document.model_dump_json()), document)


def turns_before(query: SetQuery) -> dict[str, Any]:
    """Return the field of a request that holds the turns before a query, if there are any."""
    return {"history": [turn.model_dump() for turn in query.history]} if query.history else {}


def prepare_reports(folder: Path, options: Mapping[str, Any], sample: Sample) -> Evaluation:
    """Make a set ready for the `reports` kind.

    Raises:
        BadSet: The folder is not such a set.
    """
    sample.refuse("sessions")
    chosen = read_report_set(folder, max_queries=sample.queries, distractors=sample.distractors)
    routing: Routing | None = options.get("routing")
    if routing is not None and routing not in get_args(Routing):
        raise WrongUse(f"--option routing: {routing!r} is not one of: {', '.join(get_args(Routing))}")
    fields = {name: value for name, value in options.items() if name != "routing"}

    def asked(query: SetQuery) -> ReportSearch:
        own = {"kind": "reports", "collection": chosen.name, "query": query.text, "return_parent_pages": True}
        own |= turns_before(query)
        request = validate_request(json.dumps(own | routing_fields(query, routing) | fields))
        assert isinstance(request, ReportSearch)  # noqa: S101  # the kind says so
        return request

    def scores(result: ReportResult) -> dict[str, float]:
        return score_by_rank([chosen.corpus_ids[hit.document, hit.page] for hit in result.results])

    return Evaluation(
        name=chosen.name,
        lines=reports.LINES,
        documents={chosen.name: chosen.reports},
        requests=[(query.query_id, asked(query)) for query in chosen.queries],
        qrels=chosen.qrels,
        groups={},
        scores=scores,
        prepare_collection=lambda _: None,
    )


def prepare_modules(folder: Path, options: Mapping[str, Any], sample: Sample) -> Evaluation:
    """Make a set ready for the `modules` kind. Its lexicon is learned before the first query.

    Raises:
        BadSet: The folder is not such a set.
    """
    sample.refuse("distractors", "sessions")
    chosen = read_module_set(folder, max_queries=sample.queries)

    def asked(query: SetQuery) -> ModuleSearch:
        own = module_request(query, chosen.name) | turns_before(query) | {"top_k": _DEPTH}
        request = validate_request(json.dumps(own | dict(options)))
        assert isinstance(request, ModuleSearch)  # noqa: S101  # the kind says so
        return request

    def scores(result: ModuleResult) -> dict[str, float]:
        return score_by_rank([chosen.corpus_ids[hit.document] for hit in result.results])

    def prepare_collection(mill: Querymill) -> None:
        mill.submit(LearnLexicon(collection=chosen.name)).result(timeout=120)

    kinds = {query.query_id: query.metadata.get("kind") for query in chosen.queries}
    return Evaluation(
        name=chosen.name,
        lines=modules.LINES,
        documents={chosen.name: chosen.documents},
        requests=[(query.query_id, asked(query)) for query in chosen.queries],
        qrels=chosen.qrels,
        groups={query_id: str(kind) for query_id, kind in kinds.items() if kind is not None},
        scores=scores,
        prepare_collection=prepare_collection,
    )


def prepare_messages(folder: Path, options: Mapping[str, Any], sample: Sample) -> Evaluation:
    """Make a set ready for the `messages` kind. Each query is asked in its session, without a threshold.

    Raises:
        BadSet: The folder is not such a set.
    """
    sample.refuse("distractors")
    chosen = read_message_set(folder, max_queries=sample.queries, max_sessions=sample.sessions)
    # Twice as many hits as are measured, because a message and its context have the same judged id.
    own = {"collection": chosen.name, "limit": 2 * _DEPTH, "similarity_threshold": None}

    def asked(query: SetQuery) -> MessageSearch:
        asks = {"query": query.text} | turns_before(query) | filter_fields(query)
        return MessageSearch.model_validate(own | asks | dict(options))

    def scores(result: MessageResult) -> dict[str, float]:
        return score_by_rank(
            list(dict.fromkeys(hit.message_id for hit in result.results if hit.message_id is not None))
        )

    return Evaluation(
        name=chosen.name,
        lines=messages.LINES,
        documents={chosen.name: chosen.sessions},
        requests=[(query.query_id, asked(query)) for query in chosen.queries],
        qrels=chosen.qrels,
        groups={},
        scores=scores,
        prepare_collection=lambda _: None,
    )


def prepare_conversations(folder: Path, options: Mapping[str, Any], sample: Sample) -> Evaluation:
    """Make a set ready for the `conversations` kind. Its ranks are rebuilt before the first query.

    The option ``now`` is "asked", when each query was asked (the default), "after", a day after the last message, or
    a moment. Lists are not diversified: the measures look at relevance alone. In a set without any times, a time in a
    question is no filter.

    Raises:
        BadSet: The folder is not such a set.
    """
    sample.refuse("distractors")
    chosen = read_conversation_set(folder, max_queries=sample.queries, max_sessions=sample.sessions)
    fields = {name: value for name, value in options.items() if name != "now"}
    now = options.get("now", "asked")

    def asked(query: SetQuery) -> ConversationSearch:
        moment = {"asked": asked_at(query) or chosen.after.isoformat(), "after": chosen.after.isoformat()}
        own = {
            "collection": chosen.collection(query.metadata),
            "query": query.text,
            "top_n": _DEPTH,
            "diversify": False,  # the measures look at relevance alone
            "recent_sessions": query.metadata.get("recent_sessions") or (),
            "now": moment.get(str(now), now),
        } | turns_before(query)
        return ConversationSearch.model_validate(own | (UNDATED if chosen.undated else {}) | fields)

    def scores(result: ConversationResult) -> dict[str, float]:
        return score_by_rank([hit.session_id for hit in result.results])

    def prepare_collection(mill: Querymill) -> None:
        for collection in sorted({collection for collection, _ in chosen.sessions}):
            mill.submit(RecomputeRanks(collection=collection)).result(timeout=300)

    sessions = defaultdict[str, list[ChatSession]](list)
    for collection, session in chosen.sessions:
        sessions[collection].append(session)
    return Evaluation(
        name=chosen.name,
        lines=conversations.LINES,
        documents=sessions,
        requests=[(query.query_id, asked(query)) for query in chosen.queries],
        qrels=chosen.qrels,
        groups={},
        scores=scores,
        prepare_collection=prepare_collection,
    )


PREPARED = {
    "reports": prepare_reports,
    "modules": prepare_modules,
    "messages": prepare_messages,
    "conversations": prepare_conversations,
}


def score_by_rank(judged: Sequence[str]) -> dict[str, float]:
    """Score ids by their rank: 1, 1/2, 1/3 and so on."""
    # The measures use the order alone, and in single precision: scores that nearly tie would lose it.
    return {judged_id: 1 / rank for rank, judged_id in enumerate(judged, start=1)}
