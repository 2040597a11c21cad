"""The search of each kind, and its result. A new retriever joins them here."""

from querymill_shared.contracts.conversations.search import ConversationResult, ConversationSearch
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_shared.contracts.messages.search import MessageResult, MessageSearch
from querymill_shared.contracts.modules.search import ModuleResult, ModuleSearch
from querymill_shared.contracts.reports.search import ReportResult, ReportSearch

#: Searches of one kind. A search of a collection that holds nothing of the kind is rejected.
KindSearch = ReportSearch | ModuleSearch | MessageSearch | ConversationSearch | FileSearch
KindResult = ReportResult | ModuleResult | MessageResult | ConversationResult | FileResult
