"""What counts as a secret, by its name and by what it holds. The tokens are put together here."""

import string

import pytest

from querymill.code_bases.secrets import secret_by_name, secret_in

LETTERS = (string.ascii_letters + string.digits).replace("abcdefgh", "hbcgefda").replace("0123456789", "9173624058") * 3


@pytest.mark.parametrize(
    "path",
    [
        ".env", "deep/.env.production", "prod.env", ".npmrc", ".pypirc", ".netrc", "_netrc", "home/.aws/credentials",
        ".docker/config.json", ".ssh/id_rsa",
        "id_ed25519", "a.p12", "A.PFX", "a.jks", "terraform.tfstate", "x.tfvars",
    ],
)  # fmt: skip
def test_a_secret_is_known_by_its_name(path: str) -> None:
    assert secret_by_name(path) == "by its name"


@pytest.mark.parametrize(
    "path",
    [
        ".env.example", ".env.sample", "prod.env.template", "environment.py", "id_rsa.pub", "credentials",
        "config.json",
        "credentials.py", "netrc.py", "env", "src/env.ts", "aws/credentials.go",
    ],
)  # fmt: skip
def test_a_file_that_is_named_like_one_is_none(path: str) -> None:
    assert secret_by_name(path) == ""


HELD = [
    (f"-----BEGIN RSA PRIVATE KEY-----\n{LETTERS[:64]}\n", "a private key"),
    (f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: X\n\n{LETTERS[:64]}\n", "a private key"),
    (f"key = 'AKIA{LETTERS[26:40].upper()}QZ'", "an AWS key"),
    (f"ghp_{LETTERS[:36]}", "a GitHub token"),
    (f"url = https://x:glpat-{LETTERS[:20]}@git", "a GitLab token"),
    (f"xoxb-{'9173624058'}-{LETTERS[:24]}", "a Slack token"),
    (f"//registry.npmjs.org/:_authToken={LETTERS[:36]}", "an npm token"),
    (f"sk-proj-{LETTERS[:60]}", "an OpenAI key"),
    (f"sk-ant-api03-{LETTERS[:60]}", "an Anthropic key"),
    (f"AIza{LETTERS[:35]}", "a Google key"),
    (f"sk_live_{LETTERS[:24]}", "a Stripe key"),
]


@pytest.mark.parametrize(("text", "what"), HELD, ids=[what for _, what in HELD])
def test_a_secret_is_known_by_its_form(text: str, what: str) -> None:
    assert secret_in(f"a = 1\n{text}\nb = 2\n") == what


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_" + "x" * 36,
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN CERTIFICATE-----\n" + LETTERS[:64],
        "if text.startswith('-----BEGIN RSA PRIVATE KEY-----'):",
        "_authToken=${NPM_TOKEN}",
        "sk-learn",
        "task-" + LETTERS[:40],
        "sha = '" + "9f86d081884c7d659a2feaa0c55ad015" * 2 + "'",
        "AKIA",
        "xoxb-token",
    ],
)  # fmt: skip
def test_a_text_that_only_speaks_of_one_holds_none(text: str) -> None:
    assert secret_in(text) == ""


def test_a_true_token_counts_beside_one_of_the_documentation() -> None:
    assert secret_in(f"AKIAIOSFODNN7EXAMPLE\nghp_{LETTERS[:36]}") == "a GitHub token"
