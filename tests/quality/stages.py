"""The stages that `make eval` switches on, one line each, and the sets it measures them on.

A new stage is a new line of `STAGES`: its kind, its name, the fields of the request that switch it on, and the stage
that it is compared with. `test_stages.py` checks every line against the request contracts, so that no stage names a
field or a value that does not exist. Whether a stage is on by default is read from the contracts, not written here.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from querymill_shared.contracts.conversations.search import ConversationSearch
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.jobs import validate_request
from querymill_shared.contracts.kinds import KindSearch
from querymill_shared.contracts.messages.search import MessageSearch
from querymill_shared.contracts.modules.search import ModuleSearch
from querymill_shared.contracts.reports.search import ReportSearch

#: The stage that changes nothing: what a caller gets who names no option.
DEFAULTS: Final = "defaults"


@dataclass(frozen=True)
class Stage:
    """A way to search.

    ``options`` are fields of the request, as `querymill eval --option` takes them. ``against`` names the stage of the
    same kind that this one is compared with; the two should differ in one thing. A stage to begin with names itself.
    ``why`` says in one sentence what the stage is for, or why it is off. ``chosen`` says on what its parameters were
    chosen. A stage that needs a chat model is left out unless ``--chat`` is given: the bundled model is too small to
    say anything about it.
    """

    kind: str
    name: str
    options: Mapping[str, Any] = field(default_factory=dict)
    against: str = DEFAULTS
    why: str = ""
    chosen: str = ""
    needs_chat: bool = False

    @property
    def on_by_default(self) -> bool:
        """Whether what this stage changes, compared with the one it is compared with, has the contract's defaults."""
        before = next((one for one in STAGES if (one.kind, one.name) == (self.kind, self.against)), None)
        default = _read(Stage(self.kind, DEFAULTS))
        own, other = _read(self), default if before is None else _read(before)
        return all(own[name] == default[name] for name in own if own[name] != other[name])


#: The search of each kind.
REQUESTS: Final[Mapping[str, type[KindSearch]]] = {
    "reports": ReportSearch,
    "modules": ModuleSearch,
    "messages": MessageSearch,
    "conversations": ConversationSearch,
    "files": FileSearch,
}
#: Options of `querymill eval` that are no fields of a request, with their values.
OF_EVAL: Final[Mapping[str, Mapping[str, tuple[str, ...]]]] = {
    "reports": {"routing": ("documents", "given", "question")},
    "conversations": {"now": ("asked", "after")},
}

_PLAIN: Final = {"scoring": "bm25", "spelling": False, "simplification": False, "time_filter": False}
_VECTORS: Final = {"ranking": "vectors"}

STAGES: Final = (
    Stage("conversations", "words alone", _PLAIN, "words alone",
          why="the words of the question against the passages of sessions",
          chosen="length of a passage and soft maximum by leaving one set out before (T = 2 by dev_sessions alone)"),
    Stage("conversations", "+ spelling", _PLAIN | {"spelling": True}, "words alone", why="mends slips of the typist"),
    Stage("conversations", "+ filler dropped", _PLAIN | {"simplification": True}, "words alone",
          why="leaves out words that only frame a question"),
    Stage("conversations", "+ time of the question", _PLAIN | {"time_filter": True}, "words alone",
          why="searches the time that a question names"),
    Stage("conversations", "+ rank and age", _PLAIN | {"scoring": "bounded", "vectors": False}, "words alone",
          why="importance and age move a score by at most a tenth",
          chosen="swings measured on dev_sessions and irc_threads"),
    Stage("conversations", "words alone, ranked", {"vectors": False}, "words alone",
          why="what answers while no passage has a vector"),
    Stage("conversations", DEFAULTS, {}, "words alone, ranked",
          why="vectors of passages of 400 characters count a quarter",
          chosen="the weight offline, for all kinds; k 10 on parts of irc_threads, dev_sessions and qbqtc_zh"),
    Stage("conversations", "+ rank and age as factors", {"scoring": "product"},
          why="the original product, which buries what is old"),
    Stage("conversations", "no synonyms", {"expansion": False},
          why="the default adds them in deep searches, where little is found, and to questions in another script",
          chosen="their weight, a third, on 20 translated questions of dev_sessions; the table is older than these"),
    Stage("conversations", "+ synonyms", {"expansion": True}, why="in every search, wanted or not"),
    Stage("conversations", "+ diversified", {"diversify": True}, why="gives places to other ages and topics"),
    Stage("messages", "vectors alone", _VECTORS, "vectors alone", why="the rules of the chat vector search"),
    Stage("messages", DEFAULTS, {}, "vectors alone",
          why="the words of a message and of its neighbours lead, and vectors count a quarter",
          chosen="shares of neighbours given by the design; b on locomo and irc_messages themselves, within noise"),
    Stage("messages", "defaults, joined with k 60", {"rrf_k": 60}, why="ranks further down count for more",
          chosen="10 or 60 is noise on locomo and irc_messages"),
    Stage("messages", "+ words, 1 : 1", _VECTORS | {"hybrid": True}, "vectors alone",
          why="own words and vectors as equals"),
    Stage("messages", "+ words, 1 : 0.25", _VECTORS | {"hybrid": True, "vectors_weight": 0.25, "rrf_k": 10},
          "+ words, 1 : 1", why="own words lead",
          chosen="offline, on locomo and irc_messages, each weight the same for all kinds"),
    Stage("messages", "+ contexts", _VECTORS | {"include_context": True}, "vectors alone",
          why="a message with its neighbours"),
    Stage("messages", "+ words and contexts", _VECTORS | {"hybrid": True, "include_context": True}, "+ words, 1 : 1",
          why="neighbours for both channels"),
    Stage("modules", "names alone", {"channels": ["modules"], "lexicon": False}, "text alone",
          why="the rules for module names"),
    Stage("modules", "text alone", {"channels": ["text"], "lexicon": False}, "text alone",
          why="the words of descriptions, own names, rare modules and code",
          chosen="weights of the fields (0.5 and 1.2) on vtkjs_examples itself; from 1.0 to 1.6 they differ by noise"),
    Stage("modules", "names and text", {"lexicon": False}, "text alone", why="both lists joined",
          chosen="weights of the join on vtkjs_examples itself, three kinds of query at a time"),
    Stage("modules", DEFAULTS, {}, "names and text", why="the learned lexicon guesses modules from plain words",
          chosen="its thresholds on vtkjs_examples itself, three kinds of query at a time"),
    Stage("modules", "+ vectors", {"channels": ["modules", "text", "vectors"]},
          why="vectors of descriptions, at a quarter of the weight of words; on for Chinese requests only",
          chosen="offline, 0.1 to 1 on vtkjs_examples itself: all below words"),
    Stage("modules", "+ suffix match", {"match": "suffix"}, why="`vtkMapper` also hits `vtkImageMapper`"),
    Stage("modules", "+ coverage", {"mode": "coverage"}, why="share of the asked modules instead of their number"),
    Stage("modules", "+ split by a chat model", {"split": True}, needs_chat=True,
          why="a chat model splits the request into weighted parts"),
    Stage("reports", "vectors alone", {"ranking": "agreement"}, "vectors alone",
          why="inner products, and the agreement of queries"),
    Stage("reports", DEFAULTS, {}, "vectors alone", why="the words of passages and of the heads of their pages lead",
          chosen="weights of the join on all sets of the project together; the head's, 5, on financebench_pages itself,"
          " where 3 to 6 differ by noise"),
    Stage("reports", "no glossary", {"glossary": False},
          why="the default searches the words by which reports state a question's terms, too",
          chosen="the list was written with failed questions of financebench_pages at hand"),
    Stage("reports", "+ more candidates", {"candidates": 50}, why="fifty passages from each report instead of ten"),
    Stage("reports", "+ hypothetical answer", {"hyde": True}, needs_chat=True, why="searches an invented answer too"),
    Stage("reports", "+ sub-queries", {"multi_query": ["synonym", "subquestion", "variant"]}, needs_chat=True,
          why="searches the question in other words"),
    Stage("reports", "+ rerank", {"rerank": True}, needs_chat=True, why="a judge reads the best hits"),
    Stage("files", "one round of words", {"mode": "oneshot"}, "one round of words",
          why="the words of the request, once"),
    Stage("files", DEFAULTS, {}, "one round of words", why="up to three rounds: what good files use is searched too"),
    Stage("files", "+ vectors", {"channels": ["words", "vectors"]}, why="costs a vector for every chunk at ingestion"),
)  # fmt: skip


@dataclass(frozen=True)
class DevSet:
    """A set, the kind it is measured with, and how it is meant to be asked.

    ``group`` is the field of metadata that filters its questions, for the baselines. ``options`` hold for every stage.
    """

    folder: str
    kind: str
    group: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    asked: str = ""

    @property
    def label(self) -> str:
        """The set's name on the page."""
        return f"{self.folder}, {self.asked}" if self.asked else self.folder


SETS: Final = (
    DevSet("vtkjs_examples", "modules"),
    DevSet("locomo", "messages", "conversation_id"),
    DevSet("irc_messages", "messages", "session_id"),
    DevSet("dev_sessions", "conversations", "repo", {"now": "asked"}, "asked at the time"),
    DevSet("dev_sessions", "conversations", "repo", {"now": "after"}, "asked a day later"),
    DevSet("irc_threads", "conversations"),
    DevSet("qbqtc_zh", "conversations"),
    DevSet("cmrc2018_zh", "conversations"),
    DevSet("cranfield", "conversations"),
    DevSet("cisi", "conversations"),
    DevSet("financebench_pages", "reports", "doc_name", {"routing": "documents"}, "in the right filing"),
    DevSet("financebench_pages", "reports", "", {"routing": "question"}, "from the question alone"),
    DevSet("tatqa", "reports", "doc", {"routing": "documents"}),
    DevSet("erc2_routing", "reports", "", {"routing": "question"}),
    DevSet("code_localisation", "files", "repo"),
    DevSet("cosqa", "files"),
)


def stages_of(kind: str, *, chat: bool) -> list[Stage]:
    """Return the stages of a kind that can be measured."""
    return [stage for stage in STAGES if stage.kind == kind and (chat or not stage.needs_chat)]


def request_fields(stage: Stage) -> dict[str, Any]:
    """Return the fields of the request that a stage sets."""
    return {name: value for name, value in stage.options.items() if name not in OF_EVAL.get(stage.kind, {})}


def _read(stage: Stage) -> dict[str, Any]:
    """Return every field of the stage's request: a field may fill in others, as the ranking of messages does."""
    given = {"kind": stage.kind, "collection": "c", "query": "q"} | request_fields(stage)
    return dict(validate_request(json.dumps(given)))
