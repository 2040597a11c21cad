"""Every queue, metric, setting, port and flag that a file of `deploy/` names exists in the code."""

from pathlib import Path

import pytest

from tests.fixtures.deployed_names import DEPLOY, KINDS, files, metrics_ports

FILES = files()


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(DEPLOY)) for path in FILES])
def test_a_file_names_only_what_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert {kind: found for kind, wrong in KINDS.items() if (found := list(wrong(text)))} == {}


def test_every_kind_of_file_is_read() -> None:
    assert len(FILES) > 45
    assert {path.relative_to(DEPLOY).parts[0] for path in FILES} >= {
        "README.md", "compose", "docs", "grafana", "image", "kubernetes", "prometheus", "proxy", "systemd", "valkey",
    }  # fmt: skip


def test_the_files_agree_on_the_port_of_the_figures() -> None:
    assert len(metrics_ports()) == 1


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("queue", "command: [worker, --queues, 'search,serch,rerank', --threads, '64']"),
        ("queue", "expr: max(querymill_steps_waiting{queue=~\"search|ranking\"}) > 30"),
        ("queue", '"expr": "max(querymill_steps_waiting{queue=\\"ranking\\"})"'),
        ("queue", "  - pairs: {queue: ranking}"),
        ("queue", "scaleTargetRef: {name: worker-ranking}"),
        ("queue", "# The bells.\nQUEUES=search,ranking\n"),
        ("queue", "    querymill worker --queues ranking --threads 2"),
        ("queue", "no worker listens on the queue `ranking`"),
        ("queue", "user producer on #00 +@string ~search ~ranking*"),
        ("metric", "expr: max(querymill_steps_late) > 0"),
        ("metric", "Scale by `querymill_steps_late{queue}`."),
        ("metric", "histogram_quantile(0.9, rate(querymill_job_minutes_bucket[5m]))"),
        ("metric", "rate(querymill_steps_waiting_total[5m])"),
        ("setting", "- {name: QUERYMILL_METRIC_PORT, value: '9464'}"),
        ("setting", "DATABASE_URI_FILE: /run/secrets/database-url"),
        ("setting", "Environment=BOARD_URL_FILE=%d/redis-url"),
        ("setting", "literals:\n  - OPENAI_URL=https://api.openai.com/v1"),
        ("setting", "Put `CHAT_MODELS` into the map."),
        ("setting", "docker run --env QUERYMILL_KEYS_NEEDED=true querymill:0.1.0 gateway"),
        ("port", "ports: [{name: metrics, containerPort: 9465}]"),
        ("port", 'targets: ["127.0.0.1:9465"]'),
        ("port", 'prometheus.io/port: "9465"'),
        ("port", "proxy_pass http://127.0.0.1:8081;"),
        ("port", "reverse_proxy gateway:8081 {"),
        ("port", "- {protocol: TCP, port: 6380}"),
        ("port", "    querymill gateway --host 0.0.0.0 --port 8081"),
        ("port", 'args: [gateway, --host, 0.0.0.0, --port, "8081"]'),
        ("port", 'ports: ["127.0.0.1:${PORT:-8081}:8080"]'),
        ("port", "http://[::1]:8081/readyz"),
        ("flag", "    querymill worker --queue search"),
        ("flag", "# Deploy\n\n```sh\nquerymill gatway --port 8080\n```"),
        ("flag", "# Deploy\n\n```sh\ndocker run --env REDIS_URL querymill:0.1.0 worker --thread 4\n```"),
        ("flag", "# Deploy\n\n```sh\ndocker compose run --rm keys add web --scopes search\n```"),
        ("flag", "# Deploy\n\n- `kubectl run keys --rm --image IMAGE -- keys ad NAME`"),
        ("flag", "ExecStart=/opt/querymill/bin/querymill worker --queues ${QUEUES} --thread ${THREADS}"),
        ("flag", "image: querymill\nargs: [worker, --queues, $(QUEUE), --nme, $(POD)]"),
        ("flag", "image: ${QUERYMILL_IMAGE:-querymill:0.1.0}\ncommand: [wroker]"),
        ("flag", "services:\n  keys: {image: querymill, entrypoint: [querymill, keys], command: [ad, web]}"),
        ("flag", "spec:\n  containers:\n    - image: querymill\n      args: [migrate, --checks]"),
        ("flag", "# made by: querymill keys add prometheus --scope operate --colection '*'\nrule_files: []"),
    ],
)  # fmt: skip
def test_what_does_not_exist_is_noticed(kind: str, text: str) -> None:
    assert [name for name, wrong in KINDS.items() if list(wrong(text))] == [kind]


@pytest.mark.parametrize(
    ("kind", "file", "right", "wrong"),
    [
        ("queue", "compose/compose.yaml", "--queues, ingest", "--queues, ingests"),
        ("queue", "kubernetes/base/ranks/kustomization.yaml", "queue: ranks", "queue: rank"),
        ("queue", "kubernetes/keda/scaling.yaml", 'running{queue="embed"}', 'running{queue="embeds"}'),
        ("queue", "systemd/worker-search.env", "search,expand,rerank", "search,expand,rank"),
        ("queue", "valkey/users.acl", "~embed ", "~embeds "),
        ("metric", "grafana/querymill.json", "querymill_slots", "querymill_slot"),
        ("metric", "prometheus/querymill.rules.yml", "querymill_dead_letters", "querymill_dead_letter"),
        ("setting", "compose/compose.yaml", "QUERYMILL_CACHE_URL", "QUERYMILL_CACHES_URL"),
        ("setting", "kubernetes/base/kustomization.yaml", "EMBEDDING_MODEL", "EMBED_MODEL"),
        ("setting", "systemd/querymill-gateway.service", "REDIS_URL_FILE", "VALKEY_URL_FILE"),
        ("port", "compose/prometheus.yml", "port: 9464", "port: 9646"),
        ("port", "kubernetes/base/gateway.yaml", "containerPort: 8080", "containerPort: 8000"),
        ("port", "prometheus/prometheus.yml", "127.0.0.1:8080", "127.0.0.1:8000"),
        ("port", "proxy/nginx.conf", "127.0.0.1:8080", "127.0.0.1:8000"),
        ("port", "proxy/Caddyfile", "127.0.0.1:8080", "127.0.0.1:8000"),
        ("flag", "compose/compose.yaml", "worker, --queues, ranks, --threads", "worker, --queues, ranks, --processes"),
        ("flag", "docs/runbook.md", "querymill job replay ID", "querymill job repeat ID"),
        ("flag", "image/README.md", "worker --queues", "work --queues"),
        ("flag", "kubernetes/base/migrate.yaml", "args: [migrate]", "args: [migrations]"),
        ("flag", "systemd/querymill-worker@.service", "--threads", "--processes"),
    ],
)  # fmt: skip
def test_one_wrong_name_in_a_file_is_noticed(kind: str, file: str, right: str, wrong: str) -> None:
    text = (DEPLOY / file).read_text(encoding="utf-8")
    assert right in text
    assert list(KINDS[kind](text)) == []
    assert list(KINDS[kind](text.replace(right, wrong)))
