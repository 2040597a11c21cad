/** The client against gateways that run. What they are and what is on their boards, the environment says. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { ConnectionLost, JobCancelled, JobFailed, ProblemError, Querymill, ResultPending } from "../dist/index.js";
import type { StreamedEvent } from "../dist/index.js";
import { Wire } from "./wire.js";

function given(name: string): string {
  const value = process.env[name];
  if (value === undefined) throw new Error(`${name} is not set: tests/system/gateway/test_typescript.py runs these`);
  return value;
}

/** A gateway whose jobs are worked. */
const WORKED = given("WORKED_URL");
/** A gateway whose jobs stay queued, a job on its board that has ended with many long events, and one that failed. */
const QUIET = given("QUIET_URL");
const LONG = given("LONG_JOB");
const LONG_BYTES = Number(given("LONG_BYTES"));
const FAILED = given("FAILED_JOB");
/** How a second gateway to that board is started, and where it listens. */
const COMMAND = JSON.parse(given("GATEWAY_COMMAND")) as [string, ...string[]];
const RESTARTED = given("GATEWAY_URL");

const mill = new Querymill({ url: WORKED });
const quiet = new Querymill({ url: QUIET });
const endless = { kind: "embed", collection: "endless", texts: [{ id: "a", text: "never embedded" }] } as const;

const wires: Wire[] = [];
after(() => Promise.all(wires.map((wire) => wire.close())));

async function wireTo(url: string): Promise<Wire> {
  const wire = await Wire.to(url);
  wires.push(wire);
  return wire;
}

async function collect(events: AsyncIterable<StreamedEvent>): Promise<StreamedEvent[]> {
  const seen: StreamedEvent[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

const first = started();

test("a search streams its events, and its result has the hits", async () => {
  const job = await mill.submit({ kind: "reports", query: "revenue of Nordhav in 2022", collection: "filings" });
  const seen = await collect(job.events());
  assert.equal(seen[0]?.type, "queued");
  assert.equal(seen.at(-1)?.type, "done");
  const result = await job.result({ wait: 30 });
  assert.equal(result.results[0]?.title, "Nordhav Shipping 2022");
  assert.deepEqual(await collect(job.events({ after: seen[1]?.id })), seen.slice(2));
  assert.deepEqual(await collect(job.events({ after: seen.at(-1)?.id })), []);
  assert.equal((await job.show()).state, "done");
});

test("what is said of a hit is kept", async () => {
  const job = await mill.submit({ kind: "reports", query: "ships of Nordhav", collection: "filings", top_n: 1 });
  const [hit] = (await job.result({ wait: 30 })).results;
  assert.ok(hit);
  const kept = await job.feedback({ hit: hit.document, relevance: 3, comment: "names the ships" });
  assert.equal((await kept.result({ wait: 30 })).total, 1);
  const refused = (error: unknown) => error instanceof ProblemError && error.status === 422;
  await assert.rejects(job.feedback({ hit: "unknown", relevance: 1 }), refused);
});

test("a reader that pauses is waited for, and misses nothing", async () => {
  const undisturbed = await collect(quiet.job(LONG).events());
  const wire = await wireTo(QUIET);
  const events = new Querymill({ url: wire.url }).job(LONG).events();
  const seen: StreamedEvent[] = [];
  for await (const event of events) {
    seen.push(event);
    if (seen.length === 1) {
      for (let before = -1; before !== wire.received; await sleep(200)) before = wire.received;
      assert.ok(wire.received < LONG_BYTES * 0.75, `${wire.received} bytes of ${LONG_BYTES} came unread`);
    }
  }
  assert.deepEqual(seen, undisturbed);
  assert.ok(wire.received > LONG_BYTES);
});

test("a connection that breaks again and again loses no event and doubles none", async () => {
  const wire = await wireTo(QUIET);
  const seen: StreamedEvent[] = [];
  for await (const event of new Querymill({ url: wire.url }).job(LONG).events()) {
    seen.push(event);
    if (seen.length === 1 || seen.length === 100) wire.cut();
  }
  assert.ok(wire.connections >= 3);
  assert.deepEqual(seen, await collect(quiet.job(LONG).events()));
});

test("a connection that falls silent is given up for a new one", async () => {
  const job = await quiet.submit(endless);
  const wire = await wireTo(QUIET);
  const seen: StreamedEvent[] = [];
  for await (const event of new Querymill({ url: wire.url, silenceMs: 500 }).job(job.id).events()) {
    seen.push(event);
    if (event.type === "queued") {
      wire.hold();
      await job.cancel();
    }
  }
  assert.deepEqual(seen.map((event) => event.type), ["queued", "cancelled"]);
});

test("a stream goes on when the gateway was killed and started again", async () => {
  let gateway = await first;
  try {
    const job = await quiet.submit(endless);
    const types: string[] = [];
    for await (const event of new Querymill({ url: RESTARTED }).job(job.id).events()) {
      types.push(event.type);
      if (event.type !== "queued") continue;
      await killed(gateway);
      await job.cancel();
      gateway = await started();
    }
    assert.deepEqual(types, ["queued", "cancelled"]);
  } finally {
    await killed(gateway);
  }
});

/** Start the gateway. It holds none of the pipes of this process, or their reader would wait for it too. */
async function started(): Promise<ChildProcess> {
  const [program, ...rest] = COMMAND;
  const child = spawn(program, rest, { stdio: "ignore" });
  while (!(await fetch(`${RESTARTED}/healthz`).then((found) => found.ok, () => false))) {
    assert.equal(child.exitCode, null, "the gateway did not start");
    await sleep(50);
  }
  return child;
}

async function killed(child: ChildProcess): Promise<void> {
  const ended = child.exitCode !== null || child.signalCode !== null ? undefined : once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

test("a job is cancelled once, and who waits for it hears of it", async () => {
  const job = await quiet.submit(endless);
  await assert.rejects(job.result({ wait: 0 }), ResultPending);
  const [cancelled] = await Promise.all([job.cancel(), assert.rejects(job.result(), JobCancelled)]);
  assert.equal(cancelled, true);
  assert.equal(await job.cancel(), false);
  assert.equal((await collect(job.events())).at(-1)?.type, "cancelled");
});

test("who gives a search up cancels it, and a stream that is given up ends at once", async () => {
  const leaving = new AbortController();
  const idempotencyKey = crypto.randomUUID();
  const wire = await wireTo(QUIET);
  const waited = new Querymill({ url: wire.url }).search(endless, { idempotencyKey, signal: leaving.signal });
  while (!wire.asked.some((request) => request.includes("/result"))) await sleep(5);
  const job = await quiet.submit(endless, { idempotencyKey });
  const stream = collect(job.events({ signal: leaving.signal }));
  const reason = new Error("the user left");
  leaving.abort(reason);
  await assert.rejects(waited, reason);
  await assert.rejects(stream, reason);
  assert.equal((await collect(job.events())).at(-1)?.type, "cancelled");
});

test("a submission that is given up on its way leaves no job that goes on", async () => {
  const jobsOf = async (collection: string): Promise<readonly string[]> => {
    const listed = await fetch(`${QUIET}/v1/jobs?collection=${collection}`);
    return ((await listed.json()) as { jobs: { state: string }[] }).jobs.map((job) => job.state);
  };
  const reason = new Error("the user left");
  for (const way of ["submit", "search"] as const) {
    const collection = `left-${crypto.randomUUID()}`;
    const leaving = new AbortController();
    const given = quiet[way]({ ...endless, collection }, { signal: leaving.signal });
    leaving.abort(reason);
    await assert.rejects(given, reason);
    while ((await jobsOf(collection))[0] !== "cancelled") await sleep(20);
    await assert.rejects(quiet[way]({ ...endless, collection }, { signal: leaving.signal }), reason);
    assert.equal((await jobsOf(collection)).length, 1);
  }
  const idempotencyKey = crypto.randomUUID();
  const former = await quiet.submit(endless, { idempotencyKey });
  const leaving = new AbortController();
  const again = quiet.submit(endless, { idempotencyKey, signal: leaving.signal });
  leaving.abort(reason);
  await assert.rejects(again, reason);
  assert.equal((await former.show()).state, "queued");
  await former.cancel();
});

test("errors name the field and the rule, and are told apart", async () => {
  const status = (expected: number) => (error: unknown) => error instanceof ProblemError && error.status === expected;
  const blank = { kind: "reports", query: " ", collection: "filings" } as const;
  await assert.rejects(mill.submit(blank), (error) => error instanceof ProblemError && error.errors[0]?.field === "query");
  await assert.rejects(mill.submit({ ...blank, query: "ships", collection: "nowhere" }), status(404));
  const idempotencyKey = crypto.randomUUID();
  await quiet.submit(endless, { idempotencyKey });
  await assert.rejects(quiet.submit({ ...endless, texts: [{ id: "a", text: "another" }] }, { idempotencyKey }), status(409));
  await assert.rejects(quiet.job(FAILED).result(), (error) => error instanceof JobFailed && error.detail.includes("refused"));
  await assert.rejects(collect(quiet.job("0".repeat(32)).events()), status(404));
  await assert.rejects(new Querymill({ url: "http://127.0.0.1:1", retries: 0 }).collections(), ConnectionLost);
});

test("rows are sent as they come, and what is stored can be looked at and dropped", async () => {
  const collection = `typescript-${crypto.randomUUID()}`;
  const pages = [{ page: 1, text: "one sentence of this report" }];
  async function* rows() {
    yield { sha1: "r1", title: "One", company: "Nordhav", pages };
    yield { sha1: "r2", pages: "no list" };
    yield { sha1: "r3", title: "Three", company: "Borough", pages };
  }
  const sent = await mill.ingest("reports", collection, rows());
  assert.deepEqual([sent.accepted, sent.rejected, sent.first_rejected?.[0]?.line], [2, 1, 2]);
  while (((await mill.batch(sent.batch)).stored ?? 0) < 2) await sleep(50);
  const { documents } = await mill.list("reports", collection);
  assert.deepEqual(documents.map(({ id }) => id).sort(), ["r1", "r3"]);
  assert.equal((await mill.show("reports", collection, "r1"))["title"], "One");
  assert.equal(await mill.count("reports", collection, "company=Borough"), 1);
  await mill.drop("reports", collection, { id: "r1" });
  await assert.rejects(mill.show("reports", collection, "r1"), ProblemError);
  const broken = new Error("the rows broke");
  async function* breaking() {
    yield { sha1: "r4", title: "Four", company: "Nordhav", pages };
    throw broken;
  }
  await assert.rejects(mill.ingest("reports", collection, breaking()), broken);
});

test("an upload ends when the connection breaks or the caller leaves, and so do its rows", async () => {
  for (const end of ["break", "leave"] as const) {
    const wire = await wireTo(WORKED);
    const leaving = new AbortController();
    const reason = new Error("the user left");
    let closed = 0;
    async function* endlessRows() {
      try {
        for (let number = 0; ; number += 1) {
          if (number === 1_000) {
            while (wire.open === 0) await sleep(5); // the first rows may be sent before the connection is taken
            end === "break" ? wire.cut() : leaving.abort(reason);
          }
          yield { sha1: `u${number}`, pages: `no list ${"x".repeat(200)}` };
        }
      } finally {
        closed += 1;
      }
    }
    const upload = new Querymill({ url: wire.url }).ingest("reports", "typescript", endlessRows(), leaving);
    await assert.rejects(upload, (error) => (end === "break" ? error instanceof ConnectionLost : error === reason));
    while (closed === 0) await sleep(10);
  }
  const leaving = new AbortController();
  async function* stuckRows() {
    yield { sha1: "s1", pages: "no list" };
    await new Promise(() => undefined);
  }
  const stuck = mill.ingest("reports", "typescript", stuckRows(), leaving);
  leaving.abort();
  await assert.rejects(stuck, leaving.signal.reason);
});

test("who stops reading a stream leaves nothing behind", async () => {
  const wire = await wireTo(QUIET);
  for await (const event of new Querymill({ url: wire.url }).job((await quiet.submit(endless)).id).events()) {
    assert.equal(event.type, "queued");
    break;
  }
  while (wire.open > 0) await sleep(10);
});
