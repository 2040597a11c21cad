/** A job's events: each once, in order, whatever happens to the connection. */

import { type CallOptions, type Connection, mayPass, pathOf, pause, pauseAfter } from "./connection.js";
import { type Message, messagesOf } from "./event_stream.js";
import { parse } from "./json.js";
import type { JobDetail, JobEvent, ProblemBody } from "./openapi.js";
import { ConnectionLost, errorOf } from "./problems.js";

/** The whole job, in place of events that the stream no longer holds. */
export interface Snapshot {
  readonly type: "snapshot";
  readonly job: JobDetail;
}

/** An event with its id, after which the stream can be resumed. */
export type StreamedEvent = (JobEvent | Snapshot) & { readonly id: string };

/** Where to begin. */
export interface EventOptions extends CallOptions {
  /** The id of the last event that was seen. Without it the stream begins with the job. */
  readonly after?: string | undefined;
}

const LAST: ReadonlySet<string> = new Set(["done", "failed", "cancelled", "dead"]);

/**
 * Follow a job until its last event.
 *
 * A broken, silent or refused connection is opened again, with longer pauses each time, until `signal` ends it.
 *
 * @throws ProblemError if there is no such job, or the key may not see it; the reason of `signal`.
 */
export async function* follow(
  connection: Connection,
  jobId: string,
  { after = "", signal }: EventOptions = {},
): AsyncGenerator<StreamedEvent, void, void> {
  let last = after;
  let retryMs = 1_000;
  for (let failures = 0; ; failures += 1) {
    let lost: unknown;
    try {
      for await (const message of opened(connection, jobId, last, signal)) {
        retryMs = message.retryMs ?? retryMs;
        if (message.data === "") continue;
        const event = eventOf(message);
        last = event.id || last;
        failures = 0;
        yield event;
        if (isLast(event)) return;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof StreamOver) return;
      if (!mayPass(error)) throw error;
      lost = error;
    }
    await pause(failures === 0 ? retryMs : pauseAfter(failures, lost), signal);
  }
}

/** Thrown when there is no later event. */
class StreamOver extends Error {}

/** Open a stream. Of a gateway that takes the connection and says nothing, the opening is given up too. */
async function* opened(
  connection: Connection,
  jobId: string,
  last: string,
  signal: AbortSignal | undefined,
): AsyncGenerator<Message> {
  const headers = { Accept: "text/event-stream", ...(last === "" ? {} : { "Last-Event-ID": last }) };
  const { silenceMs } = connection;
  const ours = new AbortController();
  const silence = setTimeout(() => ours.abort(new ConnectionLost(`no answer for ${silenceMs} ms`)), silenceMs);
  const either = signal === undefined ? ours.signal : AbortSignal.any([ours.signal, signal]);
  try {
    const response = await connection.send(`${pathOf("jobs", jobId)}/events`, { headers, signal: either });
    clearTimeout(silence);
    if (response.status === 204 || response.body === null) throw new StreamOver();
    yield* messagesOf(response.body, silenceMs);
  } finally {
    clearTimeout(silence);
    ours.abort();
  }
}

function eventOf({ id = "", event, data }: Message): StreamedEvent {
  const said: unknown = parse(data);
  if (event === "error") throw errorOf(said as ProblemBody);
  return event === "snapshot" ? { type: "snapshot", job: said as JobDetail, id } : { ...(said as JobEvent), id };
}

function isLast(event: StreamedEvent): boolean {
  return LAST.has(event.type === "snapshot" ? event.job.state : event.type);
}
