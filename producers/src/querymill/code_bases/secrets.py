"""Known secrets: files that hold them by name, and texts that hold a private key or a token of a known form."""

import re
from pathlib import PurePosixPath
from typing import Final

_NAMES: Final = re.compile(
    r"\.env(?:\..+)?|.+\.env|\.npmrc|\.pypirc|\.?_?netrc|\.git-credentials|\.pgpass|\.my\.cnf|\.htpasswd|\.dockercfg"
    r"|\.vault-token|\.terraformrc|terraform\.tfstate(?:\.backup)?|.+\.tfvars"
    r"|id_(?:rsa|dsa|ecdsa|ed25519)(?:_sk)?|.+\.(?:p12|pfx|jks|keystore|kdbx|ppk)",
    re.IGNORECASE,
)
#: Made to be shown: they name what must be set, not its values.
_SAMPLE: Final = re.compile(r".*[._-](?:example|sample|template|dist|defaults?)(?:[._-].*)?", re.IGNORECASE)
_PLACES: Final = frozenset({".aws/credentials", ".docker/config.json", ".kube/config", ".gem/credentials"})
_TOKENS: Final = (
    (
        "a private key",
        # Possessive and bounded: a text that almost fits is given up at once.
        r"-----BEGIN (?:[A-Z]+ )*PRIVATE KEY(?: BLOCK)?-----\s{0,99}+"
        r"(?:[^\n:]{1,99}+: [^\n]{1,999}+\s{1,99}+){0,9}+[A-Za-z0-9+/=]{40}",
    ),
    ("an AWS key", r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Z0-9])"),
    ("a GitHub token", r"(?<![A-Za-z0-9])(?:gh[pousr]_[A-Za-z0-9]{36}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})"),
    ("a GitLab token", r"(?<![A-Za-z0-9])glpat-[A-Za-z0-9_-]{20}"),
    ("a Slack token", r"(?<![A-Za-z0-9])xox[abprs]-[0-9]{8,}-[0-9A-Za-z-]{20}"),
    ("an npm token", r"(?<![A-Za-z0-9])npm_[A-Za-z0-9]{36}|//[^\s/]+/:_authToken=[A-Za-z0-9_-]{16}"),
    ("a PyPI token", r"(?<![A-Za-z0-9])pypi-AgE[A-Za-z0-9_-]{50}"),
    ("an OpenAI key", r"(?<![A-Za-z0-9])sk-(?:(?:proj|svcacct|admin)-[A-Za-z0-9_-]{40}|[A-Za-z0-9]{20}T3BlbkFJ)"),
    ("an Anthropic key", r"(?<![A-Za-z0-9])sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{40}"),
    ("a Google key", r"(?<![A-Za-z0-9])AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])"),
    ("a Stripe key", r"(?<![A-Za-z0-9])[rs]k_live_[A-Za-z0-9]{24}"),
    ("a Hugging Face token", r"(?<![A-Za-z0-9])hf_[A-Za-z]{34}(?![A-Za-z0-9])"),
    ("a SendGrid key", r"(?<![A-Za-z0-9])SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}"),
)
_TOKEN: Final = re.compile("|".join(f"(?P<t{number}>{pattern})" for number, (_, pattern) in enumerate(_TOKENS)))
#: Tokens of documentation: ``AKIAIOSFODNN7EXAMPLE``, ``ghp_xxxxxxxx…``.
_SHOWN: Final = re.compile(r"EXAMPLE|example|(.)\1{7}|(?:0?123456789|abcdefgh)", re.DOTALL)


def secret_by_name(path: str) -> str:
    """Return what makes the name of a file that of a secret; "" if nothing does."""
    place = PurePosixPath(path)
    if _NAMES.fullmatch(place.name) and not _SAMPLE.fullmatch(place.name):
        return "by its name"
    return "by its name" if "/".join(place.parts[-2:]).lower() in _PLACES else ""


def secret_in(text: str) -> str:
    """Return the first secret of a known form that a text holds, such as "a GitHub token"; "" if it holds none."""
    for found in _TOKEN.finditer(text):
        if _SHOWN.search(found[0]) is None:
            return _TOKENS[int((found.lastgroup or "t0")[1:])][0]
    return ""
