"""No secret of an address is shown, wherever in the address it stands; where the service is stays readable."""

import string
from urllib.parse import quote

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from querymill_shared.urls import mask, mask_text, read_address

#: Known at both ends, so that a part of a secret that shows is noticed too.
SECRETS = st.text(string.ascii_letters + string.digits + string.punctuation, max_size=12).map(
    lambda middle: f"HUNTER{middle}TWO"
)
SPACED = st.text(string.printable + "é密\x1b", max_size=12).map(lambda middle: f"HUNTER{middle}TWO")


#: For a test of every form in each run.
many = settings(max_examples=250)


def shows(text: str) -> bool:
    return "HUNTER" in text or "TWO" in text


USERINFO = [
    ("postgresql://app:{}@db.example:5432/mill", "postgresql://app:***@db.example:5432/mill"),
    ("postgresql://app:{}@a:1,b:2/mill?sslmode=require", "postgresql://app:***@a:1,b:2/mill?sslmode=require"),
    ("postgresql://app:{}@[2001:db8::1]:5432/mill", "postgresql://app:***@[2001:db8::1]:5432/mill"),
    ("mongodb://u:{}@a:1,b:2/mill?replicaSet=rs0", "mongodb://u:***@a:1,b:2/mill?replicaSet=rs0"),
    ("mongodb+srv://u:{}@cluster.example/mill", "mongodb+srv://u:***@cluster.example/mill"),
    ("redis://:{}@cache:6379/0", "redis://:***@cache:6379/0"),
    ("redis://{}@cache:6379/0", "redis://***@cache:6379/0"),
    ("rediss://default:{}@cache:6380/1", "rediss://default:***@cache:6380/1"),
    ("redis+sentinel://:{}@a:26379,b:26379/main/0", "redis+sentinel://:***@a:26379,b:26379/main/0"),
    ("sentinel://:{}@a:26379;sentinel://b:26379", "sentinel://:***@a:26379;sentinel://b:26379"),
    ("redis+socket://u:{}@/run/redis.sock", "redis+socket://u:***@/run/redis.sock"),
    ("unix://u:{}@/run/redis.sock?db=0", "unix://u:***@/run/redis.sock?db=0"),
    ("amqp://guest:{}@mq:5672//", "amqp://guest:***@mq:5672//"),
    ("amqps://guest:{}@mq/%2F", "amqps://guest:***@mq/%2F"),
    ("https://user:{}@models.example/v1", "https://***@models.example/v1"),
    ("http://{}@127.0.0.1:8000/v1", "http://***@127.0.0.1:8000/v1"),
]
PARAMETERS = [
    ("postgresql://db:5432/mill?user=app&password={}", "postgresql://db:5432/mill?user=app&password=***"),
    ("postgresql:///mill?host=/run&sslpassword={}", "postgresql:///mill?host=/run&sslpassword=***"),
    ("mongodb://a:1/mill?authSource=admin&tlsCertificateKeyFilePassword={}", "mongodb://a:1/mill?authSource=admin&***"),
    ("redis://cache:6379/0?password={}", "redis://cache:6379/0?password=***"),
    ("unix:///run/redis.sock?db=0&password={}", "unix:///run/redis.sock?db=0&password=***"),
    ("redis+socket:///run/redis.sock?password={}&virtual_host=0", "redis+socket:///run/redis.sock?password=***&virtual_host=0"),
    ("https://m.example/v1?api-key={}&api-version=2", "https://m.example/v1?api-key=***&api-version=2"),
    ("https://m.example/v1?API_KEY={}", "https://m.example/v1?API_KEY=***"),
    ("https://m.example/v1?token={}", "https://m.example/v1?token=***"),
    ("https://m.example/v1?sig={}", "https://m.example/v1?***"),
    ("https://m.example/v1?{}=1", "https://m.example/v1?***"),
    ("https://m.example/v1#{}", "https://m.example/v1#***"),
]  # fmt: skip
KEYWORDS = [
    ("host=db port=5432 dbname=mill user=app password={}", "host=db port=5432 dbname=mill user=app password=***"),
    ("password={} host=a,b port=1,2", "password=*** host=a,b port=1,2"),
    ("host = db sslpassword = {} sslmode=require", "host=db sslpassword=*** sslmode=require"),
    ("host=db pasword={}", "host=db ***"),
]


@many
@given(case=st.sampled_from(USERINFO + PARAMETERS), secret=SPACED)
def test_an_escaped_secret_of_a_url_is_hidden_and_the_rest_is_shown(case: tuple[str, str], secret: str) -> None:
    form, shown = case
    assert mask(form.format(quote(secret, safe=""))) == shown


@many
@given(form=st.sampled_from([form for form, _ in USERINFO]), secret=SECRETS)
def test_a_secret_that_nobody_escaped_is_hidden_too(form: str, secret: str) -> None:
    assume(":" not in secret or ":{}@" in form)  # before a ":" stands the user's name
    assert not shows(mask(form.format(secret)))


@pytest.mark.parametrize(("form", "shown"), USERINFO)
@pytest.mark.parametrize("secret", ["HUNTER/TWO", "HUNTER@TWO", "HUNTER@/TWO/@"])
def test_a_slash_or_an_at_sign_in_a_secret_hides_nothing_else(form: str, shown: str, secret: str) -> None:
    assert mask(form.format(secret)) == shown


@many
@given(form=st.sampled_from([form for form, _ in PARAMETERS]), secret=SECRETS)
def test_a_secret_that_nobody_escaped_among_the_parameters_is_hidden(form: str, secret: str) -> None:
    assume("&" not in secret)  # it would be two parameters
    assert not shows(mask(form.format(secret)))


@many
@given(case=st.sampled_from(KEYWORDS), secret=SPACED)
def test_a_quoted_secret_of_a_keyword_string_is_hidden(case: tuple[str, str], secret: str) -> None:
    form, shown = case
    escaped = secret.replace("\\", "\\\\").replace("'", "\\'")
    assert mask(form.format(f"'{escaped}'")) == shown


@many
@given(form=st.sampled_from([form for form, _ in KEYWORDS]), secret=SPACED)
def test_a_secret_of_a_keyword_string_that_nobody_quoted_is_hidden(form: str, secret: str) -> None:
    assert not shows(mask(form.format(secret)))


@many
@given(form=st.sampled_from([form for form, _ in USERINFO + PARAMETERS + KEYWORDS[:3]]), secret=SECRETS)
def test_the_secret_of_an_address_that_an_error_quotes_is_hidden(form: str, secret: str) -> None:
    quoted = form.format(quote(secret, safe=""))
    assert not shows(mask_text(f'missing "=" after "{quoted}" in connection info string'))


@given(text=st.text() | st.from_regex(r"[a-z]+://[^ ]*[@?#][^ ]*") | st.from_regex(r"(\w+ *= *[^ ]+ )+"))
def test_whatever_is_given_can_be_masked(text: str) -> None:
    assert mask_text(mask(text)) == mask(text)
    assert isinstance(mask_text(text), str)


HIDDEN_WHOLE = [
    "127.0.0.1:6379",
    ":HUNTERTWO@127.0.0.1:6379",
    "redis://:HUNTERTWO",
    "redis://:HUNTER TWO@127.0.0.1:6379",
    "redis://:HUNTER?TWO@127.0.0.1:6379",
    "redis://cache:123456/0",
    "jdbc:postgresql://db/mill?password=HUNTERTWO",
    "mongodb://db/mill;password=HUNTERTWO",
    "host=db password=HUNTER TWO",
    "host=db password='HUNTERTWO",
    "dbname",
    "HUNTERTWO",
]


@pytest.mark.parametrize("address", HIDDEN_WHOLE)
def test_what_cannot_be_read_is_hidden_whole(address: str) -> None:
    assert mask(address) == "***"


PLAIN = [
    "",
    "redis://127.0.0.1:6379/0",
    "postgresql://querymill@127.0.0.1:5432/querymill",
    "postgresql:///mill",
    "mongodb://127.0.0.1:1/querymill?directConnection=true",
    "amqp://guest@localhost//",
    "https://api.openai.com/v1",
    "host=/run/postgresql dbname=mill user=app connect_timeout=5",
]


@pytest.mark.parametrize("address", PLAIN)
def test_an_address_without_a_secret_stands_as_it_is(address: str) -> None:
    assert mask(address) == address


TEXTS = [
    ("cannot reach 'redis://:HUNTERTWO@cache:6379/0'.", "cannot reach 'redis://:***@cache:6379/0'."),
    ("<ProtocolError for u:HUNTERTWO@127.0.0.1:1/RPC2: 401>", "<ProtocolError for u:***@127.0.0.1:1/RPC2: 401>"),
    ("invalid: host=db password=HUNTERTWO", "invalid: host=db password=***"),
    ("OPENAI_API_KEY=HUNTERTWO is refused", "OPENAI_API_KEY=*** is refused"),
    ("see api-key='HUNTER TWO', please", "see api-key=***, please"),
    ("(https://errors.example/v/value_error)", "(https://errors.example/v/value_error)"),
    ("line 3: sha1: Field required; key: 'k'", "line 3: sha1: Field required; key: 'k'"),
]


@pytest.mark.parametrize(("text", "shown"), TEXTS)
def test_a_text_keeps_everything_but_the_secrets(text: str, shown: str) -> None:
    assert mask_text(text) == shown


HOSTS = [
    ("redis://:p@cache:6379/0", (("cache", 6379),)),
    ("postgresql://u:p@a:1,b/db", (("a", 1), ("b", None))),
    ("postgresql://[::1]:5/db", (("::1", 5),)),
    ("postgresql://%2Frun%2Fpostgresql/db", (("/run/postgresql", None),)),
    ("postgresql:///db?host=a,b&port=1,2", (("a", 1), ("b", 2))),
    ("postgresql:///db", ()),
    ("host=a,b port=7 password=p", (("a", 7), ("b", 7))),
    ("host=db hostaddr=10.0.0.1", (("10.0.0.1", None),)),
    ("dbname=mill", ()),
    ("redis+socket:///run/redis.sock", (("/run/redis.sock", None),)),
    ("sentinel://a:1;sentinel://b:2", (("a", 1), ("b", 2))),
]


@pytest.mark.parametrize(("address", "hosts"), HOSTS)
def test_an_address_names_its_hosts(address: str, hosts: tuple[tuple[str, int | None], ...]) -> None:
    read = read_address(address)
    assert read is not None
    assert read.hosts == hosts


def test_an_address_that_cannot_be_read_names_none() -> None:
    assert read_address("127.0.0.1:6379") is None
    assert read_address("host=db port=many") is None
