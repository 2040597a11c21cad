"""The examples at the end of the help of each command: lines that work as they stand, but for names of yours."""

from collections.abc import Mapping, Sequence
from typing import Final

#: What somebody does first, in this order.
FIRST_STEPS: Final = (
    "querymill up --detach",
    "querymill ingest reports annual-reports/ --collection filings",
    "querymill search reports 'How did margins develop?' --collection filings",
)
_EXAMPLES: Final[Mapping[str, Sequence[str]]] = {
    "up": ("querymill up --detach", "OPENAI_BASE_URL=https://models.example/v1 CHAT_MODEL=m querymill up"),
    "down": ("querymill down", "querymill down --data /srv/querymill"),
    "demo": ("querymill demo",),
    "doctor": ("querymill doctor", "REDIS_URL=redis://cache:6379/0 querymill doctor"),
    "ingest": (
        "querymill ingest reports annual-reports/ --collection filings",
        "querymill ingest messages --from claude-code --collection chats",
        "querymill ingest files ~/src/project --collection code --watch",
    ),
    "list": (
        "querymill list reports --collection filings --filter company=ACME",
        "querymill list messages --collection chats --since 2026-11-01",
    ),
    "show": (
        "querymill show reports acme-2023 --collection filings --page 42",
        "querymill show conversations s1 --collection chats --around m7",
    ),
    "export": ("querymill export reports --collection filings --out filings.jsonl",),
    "drop": (
        "querymill drop reports acme-2023 --collection filings",
        "querymill drop messages --collection chats --filter user_name=ann --yes",
    ),
    "collections": ("querymill collections",),
    "extend": ("querymill extend messages new-messages.json --collection chats",),
    "ranks rebuild": ("querymill ranks rebuild --collection chats",),
    "ranks show": ("querymill ranks show --collection chats --limit 20",),
    "search all": ("querymill search all 'what did we decide about the dues?'",),
    "search reports": (
        "querymill search reports 'How did margins develop?' --collection filings --hyde --answer",
        "querymill search reports 'net cash' --collection filings --company ACME --period 2023",
    ),
    "search modules": ("querymill search modules 'a cone beside a sphere' --collection vtk --top-k 5",),
    "search messages": (
        "querymill search messages 'why did the import fail?' --collection chats --limit 5",
        "querymill search messages 'the port of the cache' --collection chats --session-id s1",
    ),
    "search conversations": ("querymill search conversations 'the outage last week' --collection chats",),
    "search files": (
        "querymill search files 'where are retries limited?' --collection code",
        "querymill search files 'open a socket' --collection code --pattern socket --under src/net",
    ),
    "batch": ("querymill batch reports questions.jsonl --collection filings --out results.jsonl",),
    "answer": ("querymill answer question-and-hits.json", "querymill answer question-and-hits.json --judge --json"),
    "rerank": ("querymill rerank question-and-hits.json --top-n 5",),
    "embed": ("querymill embed texts.jsonl --out vectors.jsonl",),
    "jobs": ("querymill jobs", "querymill jobs --state dead"),
    "job show": ("querymill job show 4f0c",),
    "job events": ("querymill job events 4f0c",),
    "job cancel": ("querymill job cancel 4f0c",),
    "job replay": ("querymill job replay 4f0c",),
    "job drop": ("querymill job drop 4f0c",),
    "costs": ("querymill costs --days 31", "querymill costs --by key"),
    "status": ("querymill status", "querymill status --set-aside --collection filings"),
    "logs": (
        "querymill logs --follow",
        "querymill logs gateway worker-search --level warning",
        "querymill logs --job 4f0c",
    ),
    "gateway": ("querymill gateway --host 0.0.0.0 --port 8080",),
    "keys add": (
        "querymill keys add web-backend --collection filings",
        "querymill keys add loader --scope ingest --collection filings --rate 600 --expires 90d",
    ),
    "keys budget": ("querymill keys budget 0123456789ab 5.00", "querymill keys budget 0123456789ab none"),
    "keys list": ("querymill keys list",),
    "keys rotate": ("querymill keys rotate 0123456789ab --grace 86400",),
    "keys revoke": ("querymill keys revoke 0123456789ab",),
    "keys callback-secret": ("querymill keys callback-secret 0123456789ab",),
    "chat": ("querymill chat filings", "querymill chat notes --kind messages --answer-tokens 200"),
    "mcp": ("querymill mcp --collection filings", "querymill mcp --collection notes --ingest"),
    "worker": ("querymill worker", "querymill worker --queues search,expand --threads 32"),
    "migrate": ("querymill migrate", "querymill migrate --check"),
    "backup": ("querymill backup /backups/2026-11-27",),
    "restore": ("querymill restore /backups/2026-11-27",),
    "reembed": ("querymill reembed reports --collection filings",),
    "reindex": ("querymill reindex reports --collection filings",),
    "calibrate": ("querymill calibrate --model text-embedding-3-small",),
    "calibrate-files": ("querymill calibrate-files judged-files/",),
    "eval set": ("querymill eval set my-questions/ --kind reports --option hyde=true",),
    "eval weights": ("querymill eval weights said/ --kind reports",),
    "eval feedback": ("querymill eval feedback filings --kind reports --out said/",),
    "eval draft": ("querymill eval draft filings --kind reports --out my-questions/",),
    "eval compare": ("querymill eval compare before.trec after.trec --set my-questions/",),
    "record": ("querymill record day.jsonl",),
    "replay": (
        "querymill replay day.jsonl --option hyde=true",
        "querymill replay --option top_n=20 --limit 100",
        "querymill replay day.jsonl",
    ),
    "bench": ("querymill bench --list", "querymill bench overhead"),
}


def examples_of(command: str) -> Sequence[str]:
    """Return the examples of a command, such as "keys add"; none of one that another distribution declares."""
    return _EXAMPLES.get(command, ())
