/** What needs no gateway: the format of events, and places in texts. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { mayPass, pathOf, pause, pauseAfter } from "../dist/connection.js";
import { type Message, messagesOf } from "../dist/event_stream.js";
import { parse, stringify } from "../dist/json.js";
import { AnswerText, ConnectionLost, piecesOf, ProblemError, sliceText } from "../dist/index.js";

const SILENCE_MS = 60_000;
const FLEET = "👩‍🚀🚢 fleet";

async function read(chunks: Iterable<Uint8Array>): Promise<Message[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const messages: Message[] = [];
  for await (const message of messagesOf(body, SILENCE_MS)) messages.push(message);
  return messages;
}

test("a stream is the same wherever its bytes are cut, and however its lines end", async () => {
  const lines = [
    "retry: 1000", ": ok", "", "id: 1-0", "event: hits", `data: {"a":"${FLEET}\u2028\u0085"}`, "",
    "id: 1-1", "data:two", "data: lines", "ignored: x", "data", "", "data: never ended",
  ];
  const expected = [
    { id: undefined, event: "message", data: "", retryMs: 1000 },
    { id: "1-0", event: "hits", data: `{"a":"${FLEET}\u2028\u0085"}`, retryMs: undefined },
    { id: "1-1", event: "message", data: "two\nlines\n", retryMs: undefined },
  ];
  for (const end of ["\n", "\r\n", "\r"]) {
    const bytes = new TextEncoder().encode(`\uFEFF${lines.join(end)}`);
    for (let at = 0; at <= bytes.length; at += 1) {
      assert.deepEqual(await read([bytes.slice(0, at), bytes.slice(at)]), expected);
    }
    assert.deepEqual(await read(Array.from(bytes, (byte) => Uint8Array.of(byte))), expected);
  }
});

test("a stream that says nothing is given up, and closed", async () => {
  let closed = false;
  const body = new ReadableStream<Uint8Array>({ cancel: () => void (closed = true) });
  await assert.rejects(messagesOf(body, 10).next(), ConnectionLost);
  assert.ok(closed);
});

test("places are code points", () => {
  assert.equal(sliceText(`${FLEET} of ships`, 5, 10), "fleet");
  assert.deepEqual(piecesOf(`${FLEET} of ships`, [[5, 10], [14, 19]]), [
    { text: "👩‍🚀🚢 ", marked: false },
    { text: "fleet", marked: true },
    { text: " of ", marked: false },
    { text: "ships", marked: true },
  ]);
  assert.deepEqual(piecesOf("", []), []);
});

test("a part of an answer replaces everything from its offset on", () => {
  const answer = new AnswerText();
  answer.add({ offset: 0, text: "🚢🚢 nine" }).add({ offset: 3, text: "ten 🚢" });
  assert.equal(`${answer}`, "🚢🚢 ten 🚢");
  assert.equal(`${answer.add({ offset: 0, text: "No." })}`, "No.");
});

test("parts of an address lead nowhere else", () => {
  assert.equal(pathOf("collections", "a b", "src/../x.ts"), "/v1/collections/a%20b/src%2F..%2Fx.ts");
  for (const wrong of ["", ".", ".."]) assert.throws(() => pathOf("collections", wrong), RangeError);
});

test("pauses get longer, heed the gateway, and end with the signal", async () => {
  for (const [failures, most] of [[0, 500], [3, 4_000], [50, 15_000]] as const) {
    const ms = pauseAfter(failures);
    assert.ok(ms <= most && ms >= most / 2, `${ms}`);
  }
  const body = { type: "about:blank", title: "", status: 503, detail: "", request_id: "" };
  assert.equal(pauseAfter(0, new ProblemError(body, 60)), 60_000);
  assert.ok(mayPass(new ProblemError(body)));
  assert.ok(!mayPass(new ProblemError({ ...body, status: 500 })));
  const reason = new Error("enough");
  await assert.rejects(pause(60_000, AbortSignal.abort(reason)), reason);
});

test("integers keep their digits, and texts that look like them stay texts", () => {
  const wide = '[9007199254740993,-9223372036854775808,9007199254740991,1.5e300,0.12345678901234567,"9007199254740993"]';
  const read = parse(wide);
  const numbers = [9007199254740993n, -9223372036854775808n, 9007199254740991, 1.5e300, 0.12345678901234567];
  assert.deepEqual(read, [...numbers, "9007199254740993"]);
  assert.deepEqual(parse(stringify(read)), read);
  const hostile = { '"': '\\" 9007199254740993 \\', list: ["9007199254740993,", { id: 2n ** 63n - 1n }], none: null };
  assert.deepEqual(parse(stringify(hostile)), hostile);
  assert.equal(stringify({ id: 2n ** 63n - 1n }), '{"id":9223372036854775807}');
  assert.throws(() => parse('{"id": 90071992547409930'), SyntaxError);
});
