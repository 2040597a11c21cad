"""A small judged code base: a parcel service. Questions name the files that answer them, and the definition.

Written for this project. ``CODE`` maps paths to contents.
"""

from dataclasses import dataclass
from functools import cache
from typing import Final

from querymill_shared.contracts.files.ingest import IngestFiles, SourceFile
from querymill_shared.contracts.files.search import FileResult, FileSearch
from querymill_workers.retrievers.files.parsing.tree_sitter import TreeSitterParser
from tests.fixtures.world import World, new_world

#: The words of the context.
BUDGET: Final = 150
#: More steps than any of these searches has.
MAX_STEPS: Final = 200


@dataclass(frozen=True)
class Question:
    """A question, the files that answer it, and the first line of the definition that the context must hold."""

    text: str
    answers: tuple[str, ...]
    definition: str = ""


CODE: Final = {
    "parcels/delivery/retries.py": '''"""Deliveries are tried again after a failure."""
import random
from parcels.clock import Clock
from parcels.delivery.errors import TemporaryFailure

MAX_ATTEMPTS = 7

def backoff_seconds(attempt, *, base=2.0, ceiling=600.0):
    """Double the pause after each failed attempt, with jitter, up to a ceiling."""
    pause = min(ceiling, base * 2 ** attempt)
    return pause * random.uniform(0.5, 1.0)

class RetryPolicy:
    def __init__(self, clock: Clock):
        self.clock = clock

    def next_attempt(self, delivery, error):
        if not isinstance(error, TemporaryFailure) or delivery.attempts >= MAX_ATTEMPTS:
            return None
        return self.clock.now() + backoff_seconds(delivery.attempts)
''',
    "parcels/delivery/errors.py": '''class DeliveryError(Exception):
    """A parcel could not be handed over."""

class TemporaryFailure(DeliveryError):
    """Nobody was at home, or the van broke down."""

class AddressUnknown(DeliveryError):
    """The street does not exist."""
''',
    "parcels/delivery/routes.py": '''from parcels.geo.distance import great_circle

def shortest_tour(depot, stops):
    """Order the stops of a van: always drive to the nearest one that is left."""
    tour, left, here = [], set(stops), depot
    while left:
        here = min(left, key=lambda stop: great_circle(here, stop))
        tour.append(here)
        left.remove(here)
    return tour

def split_between_vans(stops, vans, capacity):
    loads = [[] for _ in range(vans)]
    for number, stop in enumerate(stops):
        loads[number % vans].append(stop)
    return [load[:capacity] for load in loads]
''',
    "parcels/geo/distance.py": '''import math

EARTH_RADIUS_KM = 6371.0

def great_circle(a, b):
    """Haversine distance of two coordinates in kilometres."""
    lat = math.radians(b.lat - a.lat)
    lon = math.radians(b.lon - a.lon)
    h = math.sin(lat / 2) ** 2 + math.cos(math.radians(a.lat)) * math.cos(math.radians(b.lat)) * math.sin(lon / 2) ** 2
    return 2 * EARTH_RADIUS_KM * math.asin(math.sqrt(h))
''',
    "parcels/geo/addresses.py": '''import re

_POSTCODE = re.compile(r"[0-9]{5}")

def parse_address(line):
    """Split a written address into street, number, postcode and town."""
    street, _, rest = line.partition(",")
    code = _POSTCODE.search(rest)
    return street.strip(), code.group() if code else "", rest.strip()
''',
    "parcels/clock.py": """import time

class Clock:
    def now(self):
        return time.time()

class FrozenClock(Clock):
    def __init__(self, at):
        self.at = at

    def now(self):
        return self.at
""",
    "parcels/api/limits.py": '''from parcels.clock import Clock

class TokenBucket:
    """Lets a client send so many requests per second, and short bursts."""

    def __init__(self, rate, burst, clock: Clock):
        self.rate, self.burst, self.clock = rate, burst, clock
        self.level, self.filled = burst, clock.now()

    def take(self, tokens=1):
        now = self.clock.now()
        self.level = min(self.burst, self.level + (now - self.filled) * self.rate)
        self.filled = now
        if self.level < tokens:
            return False
        self.level -= tokens
        return True
''',
    "parcels/api/server.py": '''from parcels.api.limits import TokenBucket
from parcels.api.sessions import load_session
from parcels.api.views import track_parcel, create_label

ROUTES = {"/track": track_parcel, "/labels": create_label}

class Application:
    def __init__(self, settings, clock):
        self.settings = settings
        self.buckets = {}
        self.clock = clock

    def bucket_of(self, client):
        return self.buckets.setdefault(client, TokenBucket(self.settings.rate, self.settings.burst, self.clock))

    def handle(self, request):
        """Answer a request, or refuse it with 429."""
        if not self.bucket_of(request.client).take():
            return 429, "too many requests"
        session = load_session(request.cookie)
        view = ROUTES.get(request.path)
        return (404, "") if view is None else view(request, session)
''',
    "parcels/api/sessions.py": '''import hashlib
import hmac

SECRET = b"change me"

def sign_cookie(user):
    digest = hmac.new(SECRET, user.encode(), hashlib.sha256).hexdigest()
    return f"{user}.{digest}"

def load_session(cookie):
    """Return the user of a cookie whose signature is right."""
    user, _, digest = cookie.rpartition(".")
    return user if hmac.compare_digest(sign_cookie(user), cookie) else None
''',
    "parcels/api/views.py": """from parcels.labels.pdf import render_label
from parcels.storage.parcels import find_parcel

def track_parcel(request, session):
    parcel = find_parcel(request.number)
    return (200, parcel.events) if parcel else (404, "unknown number")

def create_label(request, session):
    if session is None:
        return 401, "sign in first"
    return 201, render_label(request.address, request.weight)
""",
    "parcels/labels/pdf.py": '''from parcels.labels.barcodes import code128

def render_label(address, weight):
    """Draw a shipping label with its barcode."""
    return "\\n".join(["%PDF", str(address), f"{weight} kg", code128(str(address))])
''',
    "parcels/labels/barcodes.py": """def checksum(values):
    return sum(place * value for place, value in enumerate(values, start=1)) % 103

def code128(text):
    values = [ord(letter) - 32 for letter in text]
    return [104, *values, checksum([104, *values]), 106]
""",
    "parcels/storage/parcels.py": '''from parcels.storage.pool import ConnectionPool

_POOL = ConnectionPool(size=8)

def find_parcel(number):
    with _POOL.lease() as connection:
        return connection.one("select * from parcels where number = %s", number)

def archive_delivered(before):
    """Move parcels that were delivered long ago out of the hot table."""
    with _POOL.lease() as connection:
        connection.run("insert into archive select * from parcels where delivered < %s", before)
        connection.run("delete from parcels where delivered < %s", before)
''',
    "parcels/storage/pool.py": """from contextlib import contextmanager
from queue import LifoQueue

class ConnectionPool:
    def __init__(self, size):
        self.idle = LifoQueue(size)

    @contextmanager
    def lease(self, timeout=5.0):
        connection = self.idle.get(timeout=timeout)
        try:
            yield connection
        finally:
            self.idle.put(connection)
""",
    "parcels/storage/locks.py": '''class AdvisoryLock:
    """Only one worker holds the lock of a name at a time."""

    def __init__(self, connection, name):
        self.connection, self.name = connection, name

    def __enter__(self):
        self.connection.run("select pg_advisory_lock(hashtext(%s))", self.name)
        return self

    def __exit__(self, *error):
        self.connection.run("select pg_advisory_unlock(hashtext(%s))", self.name)
''',
    "parcels/billing/prices.py": '''from decimal import Decimal

ZONES = {"near": Decimal("4.90"), "far": Decimal("7.90"), "island": Decimal("14.50")}

def surcharge(weight):
    return Decimal(0) if weight <= 5 else Decimal("0.80") * (weight - 5)

def price_of(zone, weight, *, express=False):
    """The price of a parcel: zone, surcharge for weight, half as much again for express."""
    price = ZONES[zone] + surcharge(weight)
    return price * Decimal("1.5") if express else price
''',
    "parcels/billing/invoices.py": '''from parcels.billing.prices import price_of
from parcels.storage.locks import AdvisoryLock

def monthly_invoice(connection, customer, parcels):
    """Add up a customer's parcels of a month; a lock keeps two workers from billing twice."""
    with AdvisoryLock(connection, f"invoice-{customer}"):
        total = sum(price_of(parcel.zone, parcel.weight) for parcel in parcels)
        connection.run("insert into invoices values (%s, %s)", customer, total)
        return total
''',
    "parcels/jobs/schedule.py": '''from parcels.storage.parcels import archive_delivered

class Timetable:
    """What runs at which hour of the night."""

    def __init__(self):
        self.entries = []

    def every_night(self, hour, job):
        self.entries.append((hour, job))

    def due(self, hour):
        return [job for at, job in self.entries if at == hour]

def default_timetable():
    timetable = Timetable()
    timetable.every_night(3, archive_delivered)
    return timetable
''',
    "parcels/jobs/worker.py": '''import signal

class Worker:
    def __init__(self, jobs):
        self.jobs, self.stopping = jobs, False

    def run_forever(self):
        signal.signal(signal.SIGTERM, self.on_terminate)
        while not self.stopping:
            job = self.jobs.get()
            job()

    def on_terminate(self, number, frame):
        """Finish the job in hand, then stop."""
        self.stopping = True
''',
    "parcels/notify/mail.py": '''import smtplib

def send_arrival_notice(recipient, window):
    """Tell a recipient by mail in which hours the van comes."""
    with smtplib.SMTP("localhost") as server:
        server.sendmail("parcels@example.org", [recipient], f"Your parcel arrives {window}")
''',
    "parcels/settings.py": '''import os
from dataclasses import dataclass

@dataclass
class Settings:
    rate: float = 5.0
    burst: int = 20

def read_settings():
    """Read the settings from environment variables."""
    return Settings(rate=float(os.environ.get("PARCELS_RATE", 5)), burst=int(os.environ.get("PARCELS_BURST", 20)))
''',
    "web/tracking.ts": """export interface TrackingEvent { at: string; place: string; }

export async function pollTracking(parcelNumber: string, onEvent: (event: TrackingEvent) => void): Promise<void> {
  const response = await fetch(`/track?number=${parcelNumber}`);
  for (const event of await response.json()) onEvent(event);
}
""",
    "tests/test_retries.py": """from parcels.delivery.retries import RetryPolicy, backoff_seconds

def test_backoff_seconds_doubles_after_each_failed_attempt():
    assert backoff_seconds(3) <= 16

def test_a_delivery_is_retried_after_a_failed_attempt_with_jitter():
    assert RetryPolicy(None)
""",
    "tests/test_limits.py": """from parcels.api.limits import TokenBucket
from parcels.clock import FrozenClock

def test_token_bucket_limits_requests_per_second_of_a_client():
    bucket = TokenBucket(rate=1, burst=2, clock=FrozenClock(0))
    assert [bucket.take() for _ in range(3)] == [True, True, False]
""",
    "tests/test_prices.py": """from parcels.billing.prices import price_of

def test_price_of_express_parcel_is_half_as_much_again():
    assert price_of("near", 1, express=True) > price_of("near", 1)
""",
    "docs/limits.md": """# Limits

Each client may send a number of requests per second. Requests above it are refused with 429. The limit is a bucket.
""",
    "docs/operations.md": """# Operations

Workers stop on SIGTERM after the job in hand. Old parcels are archived at night.
""",
}

#: Natural questions, in words that the code has or nearly has.
NATURAL: Final = (
    Question("How long is the pause before a failed delivery is tried again?",
             ("parcels/delivery/retries.py",), "def backoff_seconds"),
    Question("Where are requests of a client limited per second?", ("parcels/api/limits.py",), "class TokenBucket"),
    Question("How is the distance between two coordinates computed?", ("parcels/geo/distance.py",), "def great_circle"),
    Question("In which order does a van visit its stops?", ("parcels/delivery/routes.py",), "def shortest_tour"),
    Question("How is the signature of a session cookie checked?", ("parcels/api/sessions.py",), "def load_session"),
    Question("What happens when a worker gets SIGTERM?", ("parcels/jobs/worker.py",), "def on_terminate"),
    Question("How much does an express parcel cost?", ("parcels/billing/prices.py",), "def price_of"),
    Question("Which parcels are moved to the archive?", ("parcels/storage/parcels.py",), "def archive_delivered"),
    Question("How do we keep two workers from billing a customer twice?",
             ("parcels/billing/invoices.py", "parcels/storage/locks.py"), "def monthly_invoice"),
    Question("How is the checksum of a barcode computed?", ("parcels/labels/barcodes.py",), "def checksum"),
    Question("Where are environment variables read?", ("parcels/settings.py",), "def read_settings"),
    Question("Who tells the recipient when the van arrives?", ("parcels/notify/mail.py",), "def send_arrival_notice"),
    Question("typescript poll tracking events of a parcel", ("web/tracking.ts",), "async function pollTracking"),
)  # fmt: skip
#: Requests that name a path or an identifier.
NAMED: Final = (
    Question('Error in File "/srv/app/parcels/storage/pool.py", line 12: queue is empty', ("parcels/storage/pool.py",),
             "def lease"),
    Question("why does worker.py line 9 never stop", ("parcels/jobs/worker.py",), "def run_forever"),
    Question("who calls `split_between_vans` with an empty list", ("parcels/delivery/routes.py",),
             "def split_between_vans"),
    Question("what does `FrozenClock` do", ("parcels/clock.py",), "class FrozenClock"),
)  # fmt: skip
#: Questions in Chinese about code in English, asked by words alone.
CHINESE: Final = (
    Question("请求速率限制在哪里实现?", ("parcels/api/limits.py",), "class TokenBucket"),
    Question("重试的退避时间怎么计算?", ("parcels/delivery/retries.py",), "def backoff_seconds"),
    Question("数据库连接池在哪里?", ("parcels/storage/pool.py",), "class ConnectionPool"),
)
#: A question, and what it needs that only another file defines: no word of the question is in that file.
GAPS: Final = (
    Question("How is the nearest stop of a tour chosen?", ("parcels/geo/distance.py",)),
    Question("Who adds up the invoice of a month?", ("parcels/storage/locks.py",)),
)
#: Questions about code whose words the tests have, too: code comes first unless tests are asked for.
TESTED: Final = (
    Question("backoff seconds doubles after a failed attempt with jitter",
             ("parcels/delivery/retries.py", "tests/test_retries.py")),
    Question("token bucket limits requests per second of a client", ("parcels/api/limits.py", "tests/test_limits.py")),
    Question("price of an express parcel", ("parcels/billing/prices.py", "tests/test_prices.py")),
)  # fmt: skip


@cache
def load() -> World:
    """Return a world with the code base."""
    world = new_world()
    world.with_ports(parser=TreeSitterParser())
    files = tuple(SourceFile(path=path, content=content) for path, content in CODE.items())
    world.result(world.run(IngestFiles(collection="code", documents=files)))
    return world


def ask(question: Question, **fields: object) -> FileResult:
    """Search by words alone, to the last round."""
    asked = {"collection": "code", "query": question.text, "channels": ["words"], "context_budget": BUDGET} | fields
    world, request = load(), FileSearch.model_validate(asked)
    job_id = world.run(request)
    # A bell names one step of a queue; a worker claims the others itself, and here nobody does.
    for _ in range(MAX_STEPS):
        waiting = [step.name for step in world.board.picture(job_id).steps if step.state == "waiting"]
        if world.board.result(job_id) is not None or not waiting:
            break
        world.ring(job_id, request, waiting[0])
    result = world.result(job_id)
    assert isinstance(result, FileResult)
    return result
