/** Rows to JSON lines: as a stream that is read as fast as it is sent, or at once where streams cannot be sent. */

import { stringify } from "./json.js";

/** What can be ingested: rows, one after the other or as they come, or JSON lines. */
export type Rows = Iterable<object> | AsyncIterable<object> | Blob;

/** Lines are sent in parts of about this many characters. */
const PART_CHARS = 65_536;

/** JSON lines, ready to be sent. `failure` is set if the caller's rows ended with an error. `end` asks for no more. */
export interface Lines {
  readonly body: BodyInit;
  readonly failure: () => { readonly error: unknown } | undefined;
  readonly end: () => void;
}

/** Make the body of an upload. */
export async function linesOf(rows: Rows): Promise<Lines> {
  if (rows instanceof Blob) return whole(rows);
  if (!sendsStreams()) {
    const parts: string[] = [];
    for await (const part of partsOf(rows)) parts.push(part);
    return whole(new Blob(parts));
  }
  return streamOf(rows);
}

function whole(body: Blob): Lines {
  return { body, failure: () => undefined, end: () => undefined };
}

/** Browsers send streams over HTTP/2 only, or not at all. */
function sendsStreams(): boolean {
  return !("document" in globalThis) && !("WorkerGlobalScope" in globalThis);
}

function streamOf(rows: Exclude<Rows, Blob>): Lines {
  const encoder = new TextEncoder();
  const parts = partsOf(rows);
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  // Not awaited: rows that wait for something are closed when it has come, if ever.
  const end = () => {
    ended = true;
    parts.return().catch(() => undefined);
  };
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await parts.next();
        if (ended) controller.error(new Error("the upload is over"));
        else if (done) controller.close();
        else controller.enqueue(encoder.encode(value));
      } catch (error) {
        failure = { error };
        controller.error(error);
      }
    },
    cancel: end,
  });
  return { body, failure: () => failure, end };
}

async function* partsOf(rows: Exclude<Rows, Blob>): AsyncGenerator<string, void, void> {
  let part = "";
  for await (const row of rows) {
    part += `${stringify(row)}\n`;
    if (part.length >= PART_CHARS) {
      yield part;
      part = "";
    }
  }
  if (part !== "") yield part;
}
