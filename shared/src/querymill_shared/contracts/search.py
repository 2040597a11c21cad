"""The `search` kind: one question over everything. Each retriever searches as a branch of one job."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import (
    AfterValidator,
    Field,
    FiniteFloat,
    TypeAdapter,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from querymill_shared.branches import step_in
from querymill_shared.contracts.conversations.search import DateLocale, TimeZone
from querymill_shared.contracts.errors import InvalidRequest, UnknownCollection
from querymill_shared.contracts.fields import (
    FROM_BOARD,
    JOINED,
    CollectionName,
    Contract,
    DeadlineSeconds,
    Distinct,
    Growing,
    Lane,
    QueryText,
    RequestLane,
    from_board,
)
from querymill_shared.contracts.filters import RESERVED, Filter, fits
from querymill_shared.contracts.history import InChat
from querymill_shared.contracts.kinds import (
    HITS,
    SEARCHES,
    KindHit,
    KindResult,
    KindSearch,
    hits_alone,
    limit_of,
)
from querymill_shared.contracts.modules.search import CANDIDATES, ModuleSearch
from querymill_shared.contracts.rerank import Reranks, judges_batch
from querymill_shared.contracts.results import Asks, JobResult
from querymill_shared.contracts.routing import asked_first
from querymill_shared.queues import Queue

#: A search of more collections and kinds is rejected: each takes a thread of the workers.
MAX_BRANCHES: Final = 64
#: The share of the deadline that a branch has, unless the request says otherwise.
SHARE_OF_DEADLINE: Final = 0.5
#: What an error calls the collections of a search that names none.
ALL: Final = "all collections"
BranchState = Literal["done", "failed", "spared"]


def _known_kind(kind: str) -> str:
    if kind not in SEARCHES:
        raise ValueError(f"must be one of: {', '.join(SEARCHES)}")
    return kind


def _known_branch(branch: str) -> str:
    kind, _, collection = branch.partition("/")
    _known_kind(kind)
    _COLLECTION.validate_python(collection)
    return branch


_COLLECTION: Final[TypeAdapter[str]] = TypeAdapter(CollectionName)
KindName = Annotated[str, AfterValidator(_known_kind), WithJsonSchema({"type": "string", "enum": list(SEARCHES)})]
BranchName = Annotated[
    str,
    AfterValidator(_known_branch),
    WithJsonSchema({"type": "string", "pattern": rf"^({'|'.join(SEARCHES)})/[A-Za-z0-9][A-Za-z0-9._-]{{0,63}}$"}),
]


class Search(InChat, Reranks, Asks["SearchResult"]):
    """Ask one question of several collections and kinds of documents at once.

    Every kind that a collection holds is a branch: the search of that kind, at its defaults. Branches run side by side,
    and their hits are ranked together by what a hit at its place in a branch is worth; see `JointHit`. A branch that
    fails or is late is named in ``degraded``, and the others answer.

    ``collections`` and ``kinds`` narrow the search; without them it asks all that the caller may read. ``branches`` are
    worked out from both when the search is submitted. Only documents that pass the ``filter`` are found: in a kind that
    lacks a field of it, none.

    A question that names code, asks for figures of a company, or asks what was said has the branches that hold such
    documents ``asked_first``. The others are asked if what these find says little of the question, and are spared
    otherwise. A search that names its ``branches`` asks all of them at once.

    ``top_k`` is the number of hits. With ``group`` the hits of a kind stand together, the kind of the best hit first,
    and each kind has up to ``top_k``. A branch has ``branch_deadline`` seconds, by default half of the ``deadline``.
    With ``rerank`` the one ranking is judged at its end, and the branches share what is left to them.
    """

    queue: ClassVar[Queue] = Queue.SEARCH
    kind: Literal["search"] = "search"
    query: Annotated[QueryText, Field(description="the question")]
    collections: Annotated[
        tuple[CollectionName, ...],
        Field(max_length=MAX_BRANCHES, description="collections that are searched (default: all that you may read)"),
        Distinct,
    ] = ()
    kinds: Annotated[
        tuple[KindName, ...], Field(description="kinds of documents that are searched (default: all)"), Distinct
    ] = ()
    branches: Annotated[
        tuple[BranchName, ...],
        Field(
            max_length=MAX_BRANCHES,
            description="what is searched, as kind/collection (default: each of the kinds that each of the collections"
            " holds)",
        ),
        Distinct,
    ] = ()
    asked_first: Annotated[
        tuple[BranchName, ...],
        Field(
            max_length=MAX_BRANCHES,
            description="which of the `branches` are asked first: the others only if these say little of the question"
            " (default: all at once; where no branches are named, what the question is about decides)",
        ),
        Distinct,
    ] = ()
    filter: Filter = Field(default_factory=dict, description="conditions that a document must meet, by field")
    top_k: Annotated[int, Field(ge=1, le=100, description="number of hits returned; of each kind, with `group`")] = 10
    group: Annotated[bool, Field(description="list the hits kind by kind")] = False
    branch_deadline: Annotated[
        FiniteFloat | None,
        Field(gt=0, le=600, description="seconds that each branch has (default: half of the deadline)"),
    ] = None
    metadata: Annotated[bool, Field(description="return what was ingested with each hit's document")] = False
    time_zone: TimeZone = "UTC"
    locale: DateLocale = None
    lane: RequestLane = Lane.INTERACTIVE
    deadline: DeadlineSeconds = 10.0

    @field_validator("filter")
    @classmethod
    def _is_readable(cls, conditions: Mapping[str, Any], known: ValidationInfo) -> Mapping[str, Any]:
        kinds = known.data.get("kinds")
        for retriever in RESERVED:
            if not kinds or retriever in kinds:
                fits(conditions, retriever)
        return conditions

    @model_validator(mode="after")
    def _branches_are_meant(self) -> Self:
        for branch in self.branches:
            kind, collection = parts_of(branch)
            if self.kinds and kind not in self.kinds:
                raise ValueError(f"branches: {branch!r} is of no kind among `kinds`")
            if self.collections and collection not in self.collections:
                raise ValueError(f"branches: {branch!r} is of no collection among `collections`")
        if unknown := [branch for branch in self.asked_first if branch not in self.branches]:
            raise ValueError(f"asked_first: {unknown[0]!r} must be among `branches`")
        return self

    @property
    def collection(self) -> str:
        """The names of all collections that it reads, joined."""
        return JOINED.join(dict.fromkeys(parts_of(branch)[1] for branch in self.branches))

    def ends_s(self, branch: str) -> float:
        """Return how many seconds after submission a branch ends.

        One that may be asked after others has its share of what they leave.
        """
        given = self.branch_deadline
        end = min(self.deadline, self.deadline * SHARE_OF_DEADLINE if given is None else given)
        is_late = bool(self.asked_first) and branch not in self.asked_first
        return end + (self.deadline - end) * SHARE_OF_DEADLINE if is_late else end

    @property
    def steps(self) -> tuple[str, ...]:
        """The first steps of every branch that is asked first."""
        return self.steps_of(self.asked_first or self.branches)

    def steps_of(self, branches: Sequence[str]) -> tuple[str, ...]:
        """Return the first steps of some branches."""
        return tuple(step_in(branch, step) for branch in branches for step in self.search_of(branch).steps)

    def queue_of(self, step: str) -> Queue:
        """Return the queue on which the search of the branch would run the step."""
        if judges_batch(step):
            return super().queue_of(step)
        branch, own = branch_and_step(step)
        return self.search_of(branch).queue_of(own)

    def search_of(self, branch: str) -> KindSearch:
        """Return the search that a branch is."""
        kind, collection = parts_of(branch)
        search = SEARCHES[kind]
        asked = {
            "query": self.query,
            "collection": collection,
            "history": self.history,
            "lane": self.lane,
            "filter": self.filter,
            "metadata": self.metadata,
            "time_zone": self.time_zone,
            "locale": self.locale,
            "deadline": self.deadline,
            "standalone": False,  # a chat model would be asked once for each collection
            limit_of(search): self.top_k,
        }
        if search is ModuleSearch:  # no channel may give fewer than are returned
            asked["candidates"] = max(CANDIDATES, self.top_k)
        # A kind without a filter refuses one. What else a kind does not have makes no difference to it.
        known = {
            name: value for name, value in asked.items() if name in search.model_fields or (name == "filter" and value)
        }
        return search.model_validate(hits_alone(search) | known)


def parts_of(branch: str) -> tuple[str, str]:
    """Return the kind and the collection of a branch."""
    kind, _, collection = branch.partition("/")
    return kind, collection


def branch_and_step(step: str) -> tuple[str, str]:
    """Return the branch of a step, and what it is called there: "" for the step that holds how the branch ended."""
    kind, collection, *own = step.split("/", 2)
    return f"{kind}/{collection}", own[0] if own else ""


def with_branches(search: Search, held: Mapping[str, Sequence[str]]) -> Search:
    """Return a search with its branches: what each of its collections, by default of all that are seen, holds.

    Args:
        search: The request.
        held: The collections that its caller may see, each with the kinds that it holds.

    Raises:
        UnknownCollection: A collection that is named, or all of them, holds nothing of the kinds.
        InvalidRequest: There are more branches than one search may have.
    """
    kinds, named = search.kinds or tuple(SEARCHES), " or ".join(search.kinds) or "documents"
    known = {name: [kind for kind in kinds if kind in its_kinds] for name, its_kinds in held.items()}
    if search.branches:
        asked = search.branches
    else:
        asked = tuple(f"{kind}/{name}" for name in search.collections or known for kind in known.get(name, ()))
    for name in (*search.collections, *(parts_of(branch)[1] for branch in asked)) or (ALL,):
        its_kinds = [kind for kind, collection in map(parts_of, asked) if collection == name]
        if not its_kinds or not set(its_kinds) <= set(known.get(name, ())):
            raise UnknownCollection(name, named, [each for each, kinds in known.items() if kinds])
    if len(asked) > MAX_BRANCHES:
        rule = f"a search reads up to {MAX_BRANCHES} kinds of documents in collections, and there are {len(asked)}"
        raise InvalidRequest(("collections", f"{rule}: name collections or kinds"))
    first = search.asked_first if search.branches else asked_first(search.query, asked)
    return search.model_copy(update={"branches": asked, "asked_first": first})


#: What reads the hits of each kind.
_READERS: Final[Mapping[str, TypeAdapter[Any]]] = {kind: TypeAdapter(of_kind) for kind, of_kind in HITS.items()}


class JointHit(Contract):
    """A hit of one kind in the ranking of all.

    Attributes:
        kind: kind of the document
        collection: collection that it was found in
        rank: place of the hit in its branch, from 1
        score: worth of the hit, by its rank and the weight of its branch; comparable within this result only
        explanation: every number that is needed to recompute the score by hand, with the formula
        hit: what the search of its kind found
    """

    kind: str
    collection: str
    rank: int
    score: float
    explanation: dict[str, Any]
    hit: KindHit

    @model_validator(mode="before")
    @classmethod
    def _read_by_kind(cls, given: Any, known: ValidationInfo) -> Any:
        """Read the hit as one of its kind: some kinds' hits have the same fields."""
        if not isinstance(given, dict) or not isinstance(given.get("hit"), dict):
            return given
        read = _READERS.get(str(given.get("kind")))
        if read is None:
            return given
        hit = from_board(read, given["hit"]) if known.context == FROM_BOARD else read.validate_python(given["hit"])
        return given | {"hit": hit}


class SearchedBranch(Contract):
    """How a branch went.

    Attributes:
        kind: kind of documents that it searched
        collection: collection that it searched
        state: how the branch ended; "spared": it was not asked, because those asked first say enough of the question
        total: hits that it found in all, before the cut to its limit
        ms: milliseconds from the submission of the job until the branch ended; null: it was spared
        weight: what the branch is worth for this question: how much of the question its first hits say, from 0 to 1,
            times a factor of the kind; null: it found nothing
        reason: why it failed or was spared, in words; null: it is done
    """

    kind: str
    collection: str
    state: Annotated[BranchState, Growing]
    total: int = 0
    ms: float | None = None
    weight: float | None = None
    reason: str | None = None


class SearchResult(JobResult):
    """The result of a `Search`. ``total`` counts the hits of all branches before the cut.

    Attributes:
        query: the question
        collections: collections that were searched
        results: hits of all branches, best first; kind by kind with `group`
        branches: how the search of each kind in each collection went
        routing: why some branches were asked before the others, and whether these were asked, too; null: all were asked
            at once
    """

    kind: Literal["search"] = "search"
    query: str
    collections: tuple[str, ...]
    results: tuple[JointHit, ...]
    branches: tuple[SearchedBranch, ...]
    routing: str | None = None


#: A search of one kind or of all, and its result.
AnySearch = KindSearch | Search
AnySearchResult = KindResult | SearchResult
