"""Synonyms of technical terms, so that a query for one term finds sessions that use another.

The table was written for this project. Each line is one meaning, with its terms separated by "|". No term occurs in
two lines.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from querymill_shared.values import frozen

_MEANINGS: Final = """
database | db | 数据库
query | 查询
table | 数据表
index | 索引
transaction | 事务
deadlock | 死锁
primary key | 主键
foreign key | 外键
schema | 表结构
migration | 迁移
connection pool | 连接池
cache | caching | 缓存
cache invalidation | 缓存失效
message queue | mq | 消息队列
broker | 消息代理
worker | 工作进程
scheduler | cron | 定时任务
thread | 线程
process | 进程
coroutine | 协程
asynchronous | async | 异步
synchronous | sync | 同步
concurrency | 并发
parallelism | 并行
lock | mutex | 互斥锁
race condition | 竞态
memory leak | 内存泄漏
garbage collection | gc | 垃圾回收
stack overflow | 栈溢出
performance | perf | 性能
latency | 延迟
throughput | 吞吐量
timeout | 超时
retry | 重试
rate limit | throttling | 限流
load balancing | load balancer | 负载均衡
circuit breaker | 熔断
error | 错误 | 报错
exception | 异常
bug | defect | 缺陷
crash | 崩溃
debug | debugging | 调试
log | logging | 日志
monitoring | 监控
metrics | 指标
alert | 告警 | 报警
test | 测试
unit test | 单元测试
integration test | 集成测试
mock | 模拟对象
deployment | deploy | 部署
rollback | 回滚
release | 发布
version | 版本
container | 容器
docker | 镜像容器
kubernetes | k8s
cluster | 集群
microservice | 微服务
server | 服务器
client | 客户端
frontend | front end | 前端
backend | back end | 后端
api | interface | 接口
endpoint | 端点
gateway | 网关
proxy | 代理
authentication | 认证 | 登录验证
authorization | authorisation | permission | 权限 | 授权
encryption | 加密
password | 密码
token | 令牌
session | 会话
request | 请求
response | 响应
callback | 回调
event | 事件
configuration | config | 配置
environment variable | env var | 环境变量
dependency | 依赖
library | 库函数
framework | 框架
module | 模块
component | 组件
function | 函数
method | 方法
class | 类定义
inheritance | 继承
variable | 变量
parameter | argument | 参数
algorithm | 算法
data structure | 数据结构
array | 数组
hash table | hash map | 哈希表
linked list | 链表
recursion | 递归
loop | 循环
regular expression | regex | regexp | 正则表达式 | 正则
string | 字符串
encoding | 编码
serialization | serialisation | 序列化
file | 文件
directory | folder | 目录 | 文件夹
network | 网络
repository | repo | 代码仓库
branch | 分支
merge | 合并
conflict | 冲突
commit | 提交
refactoring | refactor | 重构
optimization | optimisation | 优化
architecture | 架构
design pattern | 设计模式
javascript | js
typescript | ts
python | py
postgresql | postgres | pg
machine learning | 机器学习
large language model | llm | 大语言模型 | 大模型
neural network | 神经网络
embedding | 嵌入向量 | 词向量
vector | 向量
training | 训练
search | 搜索 | 检索
recommendation | 推荐
user interface | ui | 用户界面
button | 按钮
layout | 布局
style sheet | css | 样式表
page | 页面
upload | 上传
download | 下载
backup | 备份
security | 安全
vulnerability | 漏洞
"""
#: A term of the query adds at most this many synonyms.
MAX_PER_TERM: Final = 3
#: The weight of a synonym; a word of the query has weight 1.
WEIGHT: Final = 1 / 3
_TIMES: Final = 3
#: How much of the first message is read for the topic, in characters.
_OPENING: Final = 500
_LATIN: Final = re.compile("[a-z0-9][a-z0-9 ]*")

MEANINGS: Final[Sequence[tuple[str, ...]]] = tuple(
    tuple(term.strip() for term in line.split("|")) for line in _MEANINGS.strip().splitlines()
)
TERMS: Final[Mapping[str, tuple[str, ...]]] = {
    term: tuple(other for other in meaning if other != term) for meaning in MEANINGS for term in meaning
}


def _pattern(terms: Sequence[str]) -> re.Pattern[str]:
    # Longer terms first, so that 缓存失效 is not read as 缓存. Latin terms match whole words.
    longest = sorted(terms, key=lambda term: (-len(term), term))
    each = [f"(?<![a-z0-9_]){term}s?(?![a-z0-9_])" if _LATIN.fullmatch(term) else term for term in longest]
    return re.compile("|".join(each))


_TERM: Final = _pattern(tuple(TERMS))


@frozen
class Expansion:
    """A term of the query, and the synonyms that it added."""

    term: str
    synonyms: tuple[str, ...]


def terms_in(text: str) -> list[str]:
    """List the terms of the table that occur in a text, each once, in order. Latin terms match whole words."""
    return list(dict.fromkeys(_terms(text)))


def expand(text: str) -> list[Expansion]:
    """List the synonyms to add to a query, except those that the query contains.

    Worked example: "db 超时" adds database and 数据库 for *db*, and timeout for 超时.
    """
    said = terms_in(text)
    found = []
    for term in said:
        synonyms = tuple(other for other in TERMS[term] if other not in said)[:MAX_PER_TERM]
        if synonyms:
            found.append(Expansion(term, synonyms))
    return found


def weighted(text: str, synonyms: Sequence[str]) -> str:
    """Build the text whose exact BM25 is 3 × (BM25 of the query + ⅓ × BM25 of the synonyms).

    BM25 counts a word as often as the query contains it, so repeating the query sets the weight exactly and the
    synonyms cannot dominate. Without synonyms, the text is the query itself.
    """
    return "\n".join([*[text] * _TIMES, *synonyms]) if synonyms else text


def topic_of(name: str, opening: str) -> str | None:
    """Return the topic of a session, or None: the first term in its name or else its opening, by its meaning's name."""
    term = next((term for text in (name, opening[:_OPENING]) for term in _terms(text)), None)
    return None if term is None else next(meaning[0] for meaning in MEANINGS if term in meaning)


def _terms(text: str) -> Iterator[str]:
    for match in _TERM.finditer(text.casefold()):
        yield match[0] if match[0] in TERMS else match[0].removesuffix("s")
