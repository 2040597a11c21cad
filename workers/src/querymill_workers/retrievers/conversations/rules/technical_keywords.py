"""The vocabulary of technical terms, which measures the depth of a session."""

from collections.abc import Sequence
from typing import Final

import ahocorasick_rs

#: The built-in vocabulary; a setting can replace it.
TECHNICAL_KEYWORDS: Final = (
    # languages
    "python", "java", "javascript", "typescript", "rust", "go", "golang", "c++", "c#", "php", "ruby", "swift", "kotlin",
    "scala", "sql", "html", "css", "bash", "shell", "lua",
    # concepts
    "algorithm", "api", "async", "await", "cache", "class", "compiler", "concurrency", "container", "cookie",
    "coroutine", "database", "deadlock", "debug", "dependency", "deployment", "encryption", "exception", "function",
    "generic", "garbage collection", "hash", "index", "inheritance", "interface", "iterator", "json", "latency",
    "linter", "load balancing", "lock", "memory leak", "metadata", "migration", "module", "mutex", "namespace",
    "oauth", "parser", "performance", "pointer", "process", "query", "queue", "race condition", "recursion",
    "refactor", "regex", "schema", "serialization", "session", "socket", "stack trace", "test", "thread", "timeout",
    "token", "transaction", "unit test", "vector", "websocket",
    # stacks
    "aws", "azure", "celery", "django", "docker", "elasticsearch", "fastapi", "flask", "git", "github actions",
    "graphql", "grpc", "kafka", "kubernetes", "linux", "mongodb", "mysql", "nginx", "node.js", "numpy", "openai",
    "pandas", "pgvector", "postgres", "postgresql", "prometheus", "pytest", "pytorch", "rabbitmq", "react", "redis",
    "spring", "sqlite", "tensorflow", "terraform", "valkey", "vue", "webpack",
    # patterns and practices
    "adapter", "agile", "ci/cd", "dependency injection", "design pattern", "event-driven", "factory", "idempotent",
    "microservice", "microservices", "middleware", "mvc", "observer", "publish-subscribe", "rate limiting", "rest",
    "retry", "singleton", "state machine",
    # Chinese
    "算法", "接口", "异步", "缓存", "编译", "并发", "容器", "协程", "数据库", "死锁", "调试", "依赖", "部署", "加密",
    "异常", "函数", "泛型", "垃圾回收", "哈希", "索引", "继承", "迭代器", "延迟", "负载均衡", "内存泄漏", "元数据",
    "迁移", "模块", "互斥锁", "命名空间", "解析", "性能", "指针", "进程", "查询", "队列", "竞态", "递归", "重构",
    "正则", "序列化", "会话", "套接字", "堆栈", "线程", "超时", "事务", "单元测试", "向量", "框架", "架构", "设计模式",
    "依赖注入", "事件驱动", "工厂模式", "单例", "观察者", "中间件", "微服务", "状态机", "限流", "重试", "幂等",
    "前端", "后端", "变量", "类型", "配置",
)  # fmt: skip


class TechnicalKeywords:
    """A vocabulary that finds its terms in texts. Decided: Latin terms match whole words, others match substrings.

    Any character other than an ASCII letter or digit ends a word, so a Chinese neighbour does too.
    """

    def __init__(self, terms: Sequence[str] = TECHNICAL_KEYWORDS) -> None:
        self._terms = sorted({term.lower() for term in terms if term.strip()})
        self._found = ahocorasick_rs.AhoCorasick(self._terms)

    @property
    def terms(self) -> Sequence[str]:
        """The terms in lower case, sorted, without duplicates."""
        return self._terms

    def of(self, text: str) -> set[str]:
        """Return the terms that occur in a text, ignoring case. Terms may overlap."""
        lower = text.lower()
        matches = self._found.find_matches_as_indexes(lower, overlapping=True)
        return {self._terms[number] for number, start, end in matches if _stands_alone(lower, start, end)}


def _stands_alone(text: str, start: int, end: int) -> bool:
    begins = not _is_latin(text[start]) or start == 0 or not _is_latin(text[start - 1])
    return begins and (not _is_latin(text[end - 1]) or end == len(text) or not _is_latin(text[end]))


def _is_latin(character: str) -> bool:
    return character.isascii() and character.isalnum()
