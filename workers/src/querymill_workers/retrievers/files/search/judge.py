"""Judge: how relevant the files of a shard are to the original request. Their contents are read here, once."""

from collections.abc import Mapping, Sequence
from typing import Final

from querymill_shared.board import Claim
from querymill_shared.contracts.files.search import FileSearch
from querymill_shared.contracts.results import Degradation
from querymill_workers.jobs.deadline import EMBEDDING_PATIENCE_S, caller_of
from querymill_workers.jobs.faults import Refused, Unavailable
from querymill_workers.jobs.usage import ProviderUsage
from querymill_workers.retrievers.files.embed import EMBEDDABLE, compares_vectors, known_weight
from querymill_workers.retrievers.files.notes import EvaluationNotes, FileNotes
from querymill_workers.retrievers.files.ports import SPACE, FilePorts
from querymill_workers.retrievers.files.rules.intent import intent_of
from querymill_workers.retrievers.files.rules.kinds import kind_of, stated_kind
from querymill_workers.retrievers.files.rules.structure import Expected
from querymill_workers.retrievers.files.search.evidence import SourceText, excerpted, weigh
from querymill_workers.retrievers.files.search.query_analysis import QueryAnalysis, meaning_of
from querymill_workers.vectors.question import embed_question
from querymill_workers.vectors.rules.weights import VectorsWeight

#: Files whose BM25 score for the request is looked up; any further file counts as having none of its words.
SCORED: Final = 2_000
#: Time that the judge leaves to planning and settling before the deadline, in seconds.
MARGIN_S: Final = 0.3
#: How long a vector is looked for that did not come for the search, in seconds.
ONCE_MORE_S: Final = 0.1


def judge(
    paths: Sequence[str],
    query: QueryAnalysis,
    expected: Expected,
    claim: Claim,
    request: FileSearch,
    ports: FilePorts,
    *,
    had_vector: bool,
) -> EvaluationNotes:
    """Evaluate some files; those that are no longer stored are left out.

    If the search had no vector of the request (``had_vector``), it is looked for once more, in case it has come.
    """
    hits = ports.words.search(request.collection, SPACE, query.recalled, limit=SCORED)
    scored = {hit.id: hit.scored for hit in hits if hit.scored is not None}
    texts = read_files(paths, request.collection, ports)
    cosines, weight, missing = compare_vectors(paths, claim, request, ports, had_vector=had_vector)
    intent = intent_of(query.text, list(scored.values()), query.synonyms)
    files = {
        path: weigh(text, intent, scored.get(path), cosines.get(path), expected, ports, weight)
        for path, text in texts.items()
    }
    judged, usage, unjudged = ask_judge(files, texts, claim, request, ports)
    said = {"judged": True, "relevance_formula": ports.judge.relevance_formula if judged else ""}
    files |= {path: files[path].model_copy(update={"relevance": value, **said}) for path, value in judged.items()}
    return EvaluationNotes(files=files, usage=usage.noted(), judged_tokens=usage.tokens, degraded=(*missing, *unjudged))


def read_files(paths: Sequence[str], collection: str, ports: FilePorts) -> dict[str, SourceText]:
    """Fetch the files that are still stored, by path."""
    contents = ports.files.contents(collection, paths)
    infos = ports.files.describe(collection, list(contents))
    symbols = ports.files.symbols(collection, list(contents))
    return {
        path: SourceText(
            path,
            content,
            infos[path].tokens,
            symbols.get(path, ()),
            kind_of(path, content, stated=stated_kind(infos[path].metadata)),
        )
        for path, content in contents.items()
        if path in infos
    }


def compare_vectors(
    paths: Sequence[str], claim: Claim, request: FileSearch, ports: FilePorts, *, had_vector: bool
) -> tuple[Mapping[str, float], VectorsWeight | None, Sequence[Degradation]]:
    """Return the cosine of each file's chunk nearest to the request, and what it weighs, if that is known.

    If the vector is missing, there is no cosine, and a reason.
    """
    if not compares_vectors(request, ports):
        return {}, None, ()
    try:
        patience_s = EMBEDDING_PATIENCE_S if had_vector else ONCE_MORE_S
        question = embed_question(
            EMBEDDABLE, claim, request, [meaning_of(request)], ports, margin_s=0, patience_s=patience_s
        )  # fmt: skip
    except (Unavailable, Refused) as error:
        if error.code == "store_down":
            raise
        gap = Degradation(stage=claim.step, reason=f"judged by words alone: {error}", code=error.code)
        return {}, None, (gap,)
    vector, model = question.vectors[0], question.model
    near = ports.files.nearest(request.collection, vector, model=model, limit=len(paths), paths=paths)
    return {hit.path: hit.cosine for hit in near.found}, known_weight(request, model, ports), ()


def ask_judge(
    files: Mapping[str, FileNotes],
    texts: Mapping[str, SourceText],
    claim: Claim,
    request: FileSearch,
    ports: FilePorts,
) -> tuple[Mapping[str, float], ProviderUsage, Sequence[Degradation]]:
    """Return the relevance that a language model gives to excerpts, if the request asks for it, and what is missing."""
    if request.evaluator != "judge" or not files:
        return {}, ProviderUsage(), ()
    passages = {path: excerpted(path, texts[path].content, notes.excerpt) for path, notes in files.items()}
    try:
        caller = caller_of(claim, request, ports, margin_s=MARGIN_S, what="the judge")
        given, usage = ports.judge.judge(meaning_of(request), passages, caller=caller.for_extras())
    except (Unavailable, Refused) as error:
        return (
            {},
            ProviderUsage(),
            (Degradation(stage=claim.step, reason=f"the default evaluator stands in: {error}", code=error.code),),
        )
    judged = {path: value for path, value in given.items() if path in files and 0 <= value <= 1}
    left = [path for path in files if path not in judged]
    missing = (
        Degradation(
            stage=claim.step, reason=f"no relevance from the judge for: {', '.join(left)}", code="provider_refused"
        ),
    )
    return judged, usage, missing if left else ()
