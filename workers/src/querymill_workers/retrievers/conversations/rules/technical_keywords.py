"""The vocabulary of technical terms, which measures the depth of a session."""

import re
from collections.abc import Sequence
from typing import Final

import ahocorasick_rs

#: The built-in vocabulary; a setting can replace it.
TECHNICAL_KEYWORDS: Final = (
    # languages
    "python", "java", "javascript", "typescript", "rust", "go", "golang", "c++", "c#", "php", "ruby", "swift",
    "kotlin", "scala", "sql", "html", "css", "bash", "shell", "lua", "powershell", "perl", "haskell", "elixir",
    "clojure", "dart",
    # concepts
    "algorithm", "api", "async", "await", "cache", "class", "compiler", "concurrency", "container", "cookie",
    "coroutine", "database", "deadlock", "debug", "dependency", "deployment", "encryption", "exception", "function",
    "generic", "garbage collection", "hash", "index", "inheritance", "interface", "iterator", "json", "latency",
    "linter", "load balancing", "lock", "memory leak", "metadata", "migration", "module", "mutex", "namespace",
    "oauth", "parser", "performance", "pointer", "process", "query", "queue", "race condition", "recursion",
    "refactor", "regex", "schema", "serialization", "session", "socket", "stack trace", "test", "thread", "timeout",
    "token", "transaction", "unit test", "vector", "websocket", "error", "bug", "http", "https", "asyncio",
    "concurrent", "optimization", "optimisation", "authentication", "authorization", "permission", "endpoint",
    "backend", "frontend", "server", "client", "network", "memory", "configuration", "environment variable",
    "command line", "commit", "branch", "pull request", "merge conflict", "repository", "build", "runtime", "segfault",
    "traceback", "log level", "logging", "benchmark", "profiler", "proxy", "firewall", "dns", "ssl", "tls", "ssh",
    "tcp", "udp", "url", "utf-8", "unicode", "yaml", "toml", "xml", "csv", "markdown", "webhook", "plugin", "sdk",
    "cli", "daemon", "kernel", "driver", "filesystem", "symlink", "subprocess", "stdout", "stderr", "parameter",
    "variable", "enum", "struct", "closure", "lambda", "decorator", "template", "snapshot", "backup", "replication",
    "sharding", "embedding", "prompt", "llm",
    # stacks
    "aws", "azure", "celery", "django", "docker", "elasticsearch", "fastapi", "flask", "git", "github actions",
    "graphql", "grpc", "kafka", "kubernetes", "linux", "mongodb", "mysql", "nginx", "node.js", "numpy", "openai",
    "pandas", "pgvector", "postgres", "postgresql", "prometheus", "pytest", "pytorch", "rabbitmq", "react", "redis",
    "spring", "sqlite", "tensorflow", "terraform", "valkey", "vue", "webpack", "node", "nosql", "gcp", "npm", "pip",
    "angular", "svelte", "next.js", "vite", "express", "rails", "laravel", ".net", "cmake", "makefile", "gradle",
    "maven", "jenkins", "gitlab", "github", "ansible", "helm", "cassandra", "dynamodb", "snowflake", "spark",
    "airflow", "langchain", "chrome", "firefox", "android", "ios", "windows", "ubuntu", "debian", "vscode",
    # patterns and practices
    "adapter", "agile", "ci/cd", "dependency injection", "design pattern", "event-driven", "factory", "idempotent",
    "microservice", "middleware", "mvc", "mvvm", "architecture", "code review", "feature flag", "rollback", "tdd",
    "orm", "crud", "observer", "publish-subscribe", "rate limiting", "rest", "retry", "singleton", "state machine",
    # Chinese
    "算法", "接口", "异步", "缓存", "编译", "并发", "容器", "协程", "数据库", "死锁", "调试", "依赖", "部署", "加密",
    "异常", "函数", "泛型", "垃圾回收", "哈希", "索引", "继承", "迭代器", "延迟", "负载均衡", "内存泄漏", "元数据",
    "迁移", "模块", "互斥锁", "命名空间", "解析", "性能", "指针", "进程", "查询", "队列", "竞态", "递归", "重构",
    "正则", "序列化", "会话", "套接字", "堆栈", "线程", "超时", "事务", "单元测试", "向量", "框架", "架构", "设计模式",
    "依赖注入", "事件驱动", "工厂模式", "单例", "观察者", "中间件", "微服务", "状态机", "限流", "重试", "幂等", "前端",
    "后端", "变量", "类型", "配置", "错误", "报错", "优化", "测试", "崩溃", "日志", "权限", "认证", "授权", "内存",
    "网络", "服务器", "客户端", "脚本", "命令行", "环境变量", "分支", "提交", "合并", "回滚", "仓库", "编码", "参数",
    "插件", "端口", "代理", "备份", "快照", "堆栈溢出", "数据结构", "数组", "字符串", "正则表达式", "消息队列",
    "代码审查",
)  # fmt: skip
#: Terms that are everyday words too: they count only in a line with code or another term.
EVERYDAY: Final = frozenset({
    "adapter", "agile", "await", "backup", "branch", "build", "class", "client", "closure", "commit", "container",
    "cookie", "dart", "driver", "express", "factory", "flask", "generic", "go", "hash", "helm", "index", "interface",
    "kernel", "lambda", "lock", "memory", "module", "network", "observer", "parameter", "performance", "permission",
    "pip", "plugin", "pointer", "process", "prompt", "rails", "react", "repository", "rest", "retry", "rust", "server",
    "session", "shell", "snapshot", "snowflake", "spark", "spring", "swift", "template", "test", "token",
    "transaction", "variable", "windows",
})  # fmt: skip
_CODE: Final = re.compile(
    r"`|\(\)|[{};]|->|=>|::|[a-z0-9]_[a-z0-9]|[a-z][A-Z]|[A-Za-z0-9_]\.(?:py|js|ts|tsx|go|rs|java|c|cpp|h|rb|php|sh|sql|md"
    r"|json|ya?ml|toml|html|css|log|txt)(?![A-Za-z0-9])|(?:^|\s)(?:\./|/[a-z]+/|--?[a-z])"
)
#: Shorter terms have no plural.
_SHORTEST_PLURAL: Final = 3


class TechnicalKeywords:
    """A vocabulary that finds its terms in texts. Decided: Latin terms match whole words, others match substrings.

    Any character other than an ASCII letter or digit ends a word, so a Chinese neighbour does too. The plural of an
    English term is that term. An everyday word counts only in a line with code, or with a term that is none.
    """

    def __init__(self, terms: Sequence[str] = TECHNICAL_KEYWORDS) -> None:
        self._terms = sorted({term.lower() for term in terms if term.strip()})
        written = {plural: term for term in self._terms for plural in _plurals(term)} | {
            term: term for term in self._terms
        }
        self._read_as = list(written.values())
        self._found = ahocorasick_rs.AhoCorasick(list(written))

    @property
    def terms(self) -> Sequence[str]:
        """The terms in lower case, sorted, without duplicates."""
        return self._terms

    def of(self, text: str) -> set[str]:
        """Return the terms that occur in a text, ignoring case. Terms may overlap.

        What a text has is what its lines have, so the terms of two texts are those of both.
        """
        return {term for line in text.splitlines() for term in self._of_line(line)}

    def _of_line(self, line: str) -> set[str]:
        lower = line.lower()
        matches = self._found.find_matches_as_indexes(lower, overlapping=True)
        found = {self._read_as[number] for number, start, end in matches if _stands_alone(lower, start, end)}
        everyday = found & EVERYDAY
        return found - everyday if everyday == found and not _CODE.search(line) else found


def _plurals(term: str) -> list[str]:
    """Return the regular plurals of an English term.

    Worked example: query gives queries, class gives classes, and thread gives threads.
    """
    if len(term) < _SHORTEST_PLURAL or not (term.isascii() and term[-1].isalpha()):
        return []
    if term.endswith(("s", "x", "z", "ch", "sh")):
        return [f"{term}es", "indices"] if term == "index" else [f"{term}es"]
    return [f"{term[:-1]}ies"] if term.endswith("y") and term[-2] not in "aeiou" else [f"{term}s"]


def _stands_alone(text: str, start: int, end: int) -> bool:
    begins = not _is_latin(text[start]) or start == 0 or not _is_latin(text[start - 1])
    return begins and (not _is_latin(text[end - 1]) or end == len(text) or not _is_latin(text[end]))


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()
