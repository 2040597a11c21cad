"""A small judged set of coding sessions: what was talked about, and which sessions answer which question.

Written for this project. Messages alternate between user and assistant. ``NOW`` is a Wednesday.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Final

from querymill_shared.contracts.conversations.ingest import IngestConversations
from querymill_shared.contracts.conversations.search import ConversationHit, ConversationResult, ConversationSearch
from querymill_shared.contracts.sessions import ChatMessage, ChatSession
from tests.fixtures.world import World, new_world
from tests.quality.failures import BundledModel

NOW: Final = datetime(2026, 7, 29, 18, tzinfo=UTC)


@dataclass(frozen=True)
class Talk:
    """A session: its messages are a minute apart, or in ``later`` sessions on the days that stand beside them."""

    id: str
    day: str
    texts: tuple[str, ...]
    name: str | None = None
    later: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Question:
    """A question with the sessions that answer it, and the same in Chinese where the sessions are in English."""

    text: str
    answers: tuple[str, ...]
    chinese: str | None = None


_FILLER: Final = "Here is the next part of the file, unchanged, for reference. " * 30

TALKS: Final = (
    Talk("sync-slow", "2026-06-12", (
        "Sync takes four minutes once there are many sessions. How can we make it faster?",
        "The loop compares every session with every other one, so the cost is quadratic. Build a map from id to "
        "session once and look each one up.", "That brought it down to six seconds, thanks.")),
    Talk("delete-key", "2026-07-02", (
        "Which shortcut should delete the selected session in the list?",
        "Use d, and ask for a confirmation in a small dialog before the session is removed.", "Fine, do that.")),
    Talk("timestamps", "2026-05-20", (
        "Messages of the editor have no timestamp. Where do we take one from?",
        "The file of the store has its modification time; spread the messages between the start and that moment.",
        "Good enough, commit it.")),
    Talk("upper-docs", "2026-04-08", (
        "The names of our documentation files are inconsistent: readme.md, Contributing.md.",
        "Rename them all to uppercase: README.md, CONTRIBUTING.md, CHANGELOG.md, and fix the links.", "Done, merged.")),
    Talk("login-405", "2026-07-21", (
        "Login returns 405 after the last deployment.",
        "The route only accepts GET now. The decorator lost its methods argument; add POST again.", "It works.")),
    Talk("wal", "2026-07-29", (
        "SQLite says the database is locked while the watcher writes.",
        "Switch the journal to WAL mode at opening and set a busy timeout of five seconds.", "No more locks, thanks.")),
    Talk("watcher", "2026-03-11", (
        "The watcher polls the folder every second. Replace the polling by events of the file system.",
        "fsnotify gives create and write events; debounce them by 200 ms, because editors write twice.",
        "All 14 tests passed, ship it.")),
    Talk("token-refresh", "2026-06-25", (
        "Starting the tool blocks for seconds when the access token has expired.",
        "Treat a valid refresh token as signed in, and refresh the access token only before the first upload.",
        "Great, startup is instant.")),
    Talk("flaky-ci", "2026-07-24", (
        "One test is flaky in CI: it fails about every tenth run.",
        "It sleeps 50 ms and hopes the worker is ready. Wait for the event with a deadline instead.",
        "Green ten times.")),
    Talk("release", "2026-07-13", (
        "Automate the release: tag, changelog and the package of Homebrew.",
        "A workflow on tags can extract the version, write the changelog and open a pull request for the tap.",
        "Nice.")),
    Talk("garbled", "2026-02-03", (
        "Chinese file names arrive garbled in the exported archive.",
        "The archive writes names in CP437 unless the UTF-8 flag is set. Set flag bit 11 for every entry.",
        "Names are right now.")),
    Talk("payment-retry", "2026-05-04", (
        "Customers are charged twice when the payment request is retried after a timeout.",
        "Send an idempotency key that is derived from the order, and store the answer of the provider under it.",
        "Solved, thanks.")),
    Talk("dark-theme", "2026-06-03", (
        "Can we have a dark theme for the settings page?",
        "Put the colours into variables and switch them with a media query; keep the choice in local storage.",
        "Yes.")),
    Talk("memory-leak", "2026-01-19", (
        "The daemon grows by 100 MB a day. Where does the memory leak come from?",
        "Listeners are added at each reconnect and never removed, so closures keep old buffers alive.",
        "Removed them, memory is flat.")),
    Talk("csv-export", "2026-07-06", (
        "Export of the orders as CSV breaks when a field has a comma.",
        "Quote every field and double the quotes inside it; better, use the csv module.", "Works with Excel too.")),
    Talk("timezone", "2026-07-08", (
        "The report shows the wrong day for customers in Tokyo.",
        "Dates are cut in UTC. Convert to the time zone of the customer before you group by day.", "Right, fixed.")),
    Talk("rate-limit", "2026-05-28", (
        "The provider answers 429. How do we limit our request rate?",
        "A token bucket in Redis, shared by all workers, and honour Retry-After.", "Thanks, no 429 since.")),
    Talk("docker-size", "2026-04-22", (
        "The container image has 2 GB. How do we make it smaller?",
        "Use a multi-stage build, copy only the virtual environment, and base it on slim.", "180 MB, great.")),
    Talk("postgres-index", "2026-06-18", (
        "The query for open invoices is slow in Postgres.",
        "Add a partial index on the due date where the state is open; the planner then skips the paid ones.",
        "From 900 ms to 4.")),
    Talk("upload-resume", "2026-03-25", (
        "Large uploads fail when the connection drops. Can they be resumed?",
        "Split the file into chunks, number them, and ask the server which ones it already has.", "Good plan.")),
    Talk("backup", "2026-02-17", (
        "Nightly backups to the object store take too long.",
        "Send incremental snapshots and compress with zstd at level 3; do a full one on Sundays.", "OK.")),
    Talk("keyboard-nav", "2026-05-12", (
        "The menu cannot be used with the keyboard.",
        "Give the items a roving tabindex, and handle the arrow keys and escape.", "Accessible now.")),
    Talk("deadlock", "2026-07-17", (
        "Two workers wait for each other: a deadlock when accounts are merged.",
        "Lock the rows in the order of their ids, always, in one statement.", "No deadlocks for a week.")),
    Talk("search-highlight", "2026-06-30", (
        "Highlight the matched words in search results.",
        "The snippet function marks them; escape HTML first, then replace the markers.", "Pretty.")),
    Talk("agent-cap", "2026-07-27", (
        "Remove the cap on reusable agents for each project.",
        "The check is in the planner; drop the constant and its test, and update the changelog.", "Merged.")),
    Talk("gamma", "2026-05-15", (
        "Let us think about how the beam is steered.", "A lens in front of the mirror, moved by a piezo.",
        "I like it."),
        name="Project Nightjar"),
    Talk("bluetooth", "2026-01-08", (
        "The headset disconnects from bluetooth after some minutes.",
        "Power saving of the driver; switch autosuspend off for that device.", "Stable now.")),
    Talk("cached", "2026-03-30", (
        "Why is yesterday's cached value returned after midnight?",
        "The key holds the day in local time and the clearing job runs in UTC.", "That was it.")),
    Talk("long-refactor", "2026-06-09", (
        "We move the commands out of the main file, one by one.", _FILLER, _FILLER,
        "The resume command is next.", _FILLER,
        "Windows paths with a drive letter must be normalised before the workspaces are compared.", _FILLER, _FILLER)),
    Talk("two-days", "2026-03-02", (
        "The importer skips notebooks with attachments.", "Attachments were unknown to the parser."),
        later=(("2026-07-28", "The importer also fails on empty notebooks."),
               ("2026-07-28", "An empty list has no last."))),
    Talk("redis-first", "2026-01-14", (
        "Should the product pages be kept in Redis?",
        "Yes, for five minutes, under a key that holds the locale; publishing throws them away.", "Agreed.")),
    Talk("redis-mid", "2026-03-05", (
        "Redis throws out users who are signed in. Redis is full, and Redis evicts whatever it likes.",
        "Give the sign-ins a Redis of their own with noeviction, and leave the other Redis alone.", "Split.")),
    Talk("redis-last", "2026-07-19", (
        "Every ten minutes Redis answers slowly.",
        "The snapshot forks the process. Append to the log instead, and take the snapshot on the replica.", "Gone.")),
    Talk("pr-178", "2026-06-03", (
        "Please review PR 178, it touches the scheduler.",
        "The tick interval goes from 60 to 15 seconds, and advance takes the lock twice.", "Fix that and merge.")),
    Talk("many-prs", "2026-06-10", tuple(
        f"PR {number} is green, PR {number + 1} waits, every PR needs a line of the changelog. {_FILLER}"
        for number in range(200, 230, 2))),
    Talk("line-178", "2026-05-04", (
        "The compiler stops at line 178 of the lexer.", "A quote is not closed in line 178.", "Found it.")),
)  # fmt: skip

QUESTIONS: Final = (
    Question("how did we solve the slow sync with many sessions", ("sync-slow",), "怎么解决大量会话同步很慢的问题"),
    Question("shortcut to delete a session", ("delete-key",), "删除会话的快捷键是怎么做的"),
    Question("adding a timestamp to the messages of the editor", ("timestamps",), "我们是怎么给编辑器的消息加时间戳的"),
    Question("rename documentation files to uppercase", ("upper-docs",), "文档文件名统一改成大写"),
    Question("login fails after deployment", ("login-405",), "部署之后登录失败是什么原因"),
    Question("database is locked while writing", ("wal",), "写入时数据库被锁住怎么办"),
    Question("watch files instead of polling", ("watcher",), "把轮询换成监听文件系统的事件"),
    Question("startup blocks because of an expired token", ("token-refresh",), "令牌过期导致启动阻塞"),
    Question("flaky test in CI", ("flaky-ci",), "CI 里不稳定的测试"),
    Question("automate the release and the changelog", ("release",), "自动发布版本和更新日志"),
    Question("garbled file names in the export", ("garbled",), "导出的文件名乱码"),
    Question("customers pay twice when a request is retried", ("payment-retry",), "支付请求重试的时候客户被重复扣款"),
    Question("dark colours for the settings", ("dark-theme",), "设置页面的深色主题"),
    Question("where did the memory leak come from", ("memory-leak",), "内存泄漏的原因是什么"),
    Question("export as csv with commas in a field", ("csv-export",), "导出订单的 CSV 字段里有逗号"),
    Question("report groups by the wrong day in another time zone", ("timezone",), "报表的日期因为时区不对"),
    Question("limit the rate of requests to the provider", ("rate-limit",), "怎么限制对外请求的频率"),
    Question("make the container image smaller", ("docker-size",), "怎么把容器镜像变小"),
    Question("slow query of invoices, which index", ("postgres-index",), "发票查询很慢，加什么索引"),
    Question("resume an upload after the connection is lost", ("upload-resume",), "连接断开后怎么恢复上传"),
    Question("incremental backup snapshots", ("backup",), "增量备份快照"),
    Question("menu with the keyboard", ("keyboard-nav",), "菜单的键盘操作"),
    Question("deadlock of two workers", ("deadlock",), "两个进程死锁"),
    Question("mark the words that were found in the results", ("search-highlight",)),
    Question("Nightjar", ("gamma",)),
    Question("headset loses its connection", ("bluetooth",)),
    Question("why is yesterday's cached value returned", ("cached",)),
    Question("drive letters on Windows", ("long-refactor",)),
    Question("what were we doing on Friday", ("flaky-ci",)),
    Question("今天做了什么", ("wal",)),
    Question("what did we do yesterday", ("two-days",)),
    Question("What have I been doing since Monday", ("two-days", "agent-cap", "wal")),
    Question("yesterday's session about the importer", ("two-days",)),
    Question("last Tuesday login problem", ("login-405",)),
    Question("what have I been doing recently with tests", ("flaky-ci", "agent-cap")),
    Question("the release work in the week of July 13", ("release",)),
    Question("sqlite lock earlier today", ("wal",)),
    Question("how did we replace the polling back in March", ("watcher",)),
    Question("antigravty deadlok of accounts", ("deadlock",)),
    Question("PR 178", ("pr-178",)),
    Question("what was wrong in PR #178?", ("pr-178",)),
    Question("lexer line 178", ("line-178",)),
)

#: A question that asks for sessions in an order of time, and the first ones that it wants.
IN_ORDER: Final = (
    ("the most recent session about Redis", ("redis-last", "rate-limit", "redis-mid", "redis-first")),
    ("latest conversation on Redis", ("redis-last", "rate-limit", "redis-mid", "redis-first")),
    ("When did we last talk about Redis?", ("redis-last", "rate-limit", "redis-mid", "redis-first")),
    ("first time we discussed Redis", ("redis-first", "redis-mid", "rate-limit", "redis-last")),
    ("最近一次关于 Redis 的讨论", ("redis-last", "rate-limit", "redis-mid", "redis-first")),
    ("第一次聊到 Redis 是什么时候", ("redis-first", "redis-mid", "rate-limit", "redis-last")),
    ("the last time we talked about the importer", ("two-days",)),
    ("the first session about the login", ("login-405",)),
)


def session_of(talk: Talk) -> ChatSession:
    """Return a talk in the form that is ingested."""
    start = datetime.fromisoformat(f"{talk.day}T09:00:00").replace(tzinfo=UTC)
    said = [(start + timedelta(minutes=place), text) for place, text in enumerate(talk.texts)]
    said += [(datetime.fromisoformat(f"{day}T09:00:00").replace(tzinfo=UTC), text) for day, text in talk.later]
    messages = tuple(
        ChatMessage(message_id=f"{talk.id}-{place}", role=("user", "assistant")[place % 2], text=text, created_at=at)
        for place, (at, text) in enumerate(said)
    )
    return ChatSession(session_id=talk.id, name=talk.name, started_at=start, messages=messages)


@cache
def load(*, is_bundled: bool) -> World:
    """Return a world with the sessions, and with the vectors of the bundled model or of words."""
    world = new_world()
    if is_bundled:
        world.with_ports(embeddings=BundledModel(is_away=False))
    for talk in TALKS:
        world.result(world.run(IngestConversations(collection="history", documents=(session_of(talk),))))
    return world


def hits(world: World, query: str) -> Sequence[ConversationHit]:
    """Search, and return the hits."""
    result = world.result(world.run(ConversationSearch(collection="history", query=query, now=NOW)))
    assert isinstance(result, ConversationResult)
    return result.results
