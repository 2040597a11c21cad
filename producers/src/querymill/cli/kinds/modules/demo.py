"""The demo's step on code: examples are ingested, and found by the modules they use."""

from pathlib import Path
from typing import Final

from rich.text import Text

from querymill.cli.kind import DemoStep
from querymill.cli.kinds.modules.screen import show
from querymill.cli.sample import COLLECTION, load_sample
from querymill.cli.terminal import Console
from querymill.client.mill import Querymill
from querymill.ingesting.kinds.modules import LINES
from querymill_shared.contracts.modules.learn import LearnLexicon
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch, SubQuery


def search_examples(mill: Querymill, sample: Path, console: Console) -> list[ModuleResult]:
    """Load code examples, learn their words, and ask by class names, by weighted parts, and by plain words."""
    lines, _ = load_sample(mill, LINES, sample / "modules.jsonl", console)
    lexicon = mill.submit(LearnLexicon(collection=COLLECTION)).result(timeout=60)
    console.print(f"   {len(lines)} documents; {lexicon.total} words of their descriptions stand for modules")
    parts = (SubQuery(description="cut by a vtkPlane", weight=10), SubQuery(description="an STL reader", weight=3))
    asked = (
        ModuleSearch(query="请用vtkConeSource画一个锥体", collection=COLLECTION, top_k=3),
        ModuleSearch(query="Cut a printed part by a plane", collection=COLLECTION, top_k=3, sub_queries=parts),
        ModuleSearch(query="a legend for the pressure", collection=COLLECTION, top_k=3),
    )
    results = []
    for request in asked:
        console.print()
        console.print(Text(request.query, "bold"))
        results.append(mill.submit(request).result(timeout=40))
        show(console, results[-1], limit=2)
    prompt = results[1].prompt
    console.print(Text(f"  a prompt of {len(prompt):,} characters for a code-writing model is part of each", "dim"))
    return results


STEPS: Final = (DemoStep("Code examples, by the modules they use", search_examples),)
