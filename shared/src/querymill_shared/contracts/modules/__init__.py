"""The jobs of `modules` and their results."""

from querymill_shared.contracts.modules.ingest import IngestModule, IngestModuleResult
from querymill_shared.contracts.modules.learn import LearnLexicon, LexiconResult
from querymill_shared.contracts.modules.load import LoadModules, LoadModulesResult
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch

ModuleRequest = ModuleSearch | IngestModule | LoadModules | LearnLexicon
ModuleJobResult = ModuleResult | IngestModuleResult | LoadModulesResult | LexiconResult
