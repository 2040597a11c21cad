"""The jobs of `modules` and their results."""

from querymill_shared.contracts.modules.ingest import IngestModules, IngestModulesResult
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch

ModuleRequest = ModuleSearch | IngestModules | LearnLexicon
ModuleJobResult = ModuleResult | IngestModulesResult | LexiconResult
