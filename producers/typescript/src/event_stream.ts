/** The format of Server-Sent Events: bytes as they come, to messages. */

import { ConnectionLost } from "./problems.js";

/** A message of a stream. `retryMs` is set if the server said when to come back. */
export interface Message {
  readonly id: string | undefined;
  readonly event: string;
  readonly data: string;
  readonly retryMs: number | undefined;
}

interface Fields {
  id?: string;
  event?: string;
  data?: string[];
  retryMs?: number;
}

/**
 * Read a stream as fast as its messages are taken, and no faster. It is closed when the caller stops reading.
 *
 * @throws ConnectionLost if it breaks, or if no byte comes for `silenceMs`.
 */
export async function* messagesOf(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<Message> {
  let fields: Fields = {};
  for await (const line of linesOf(body, silenceMs)) {
    if (line !== "") {
      readField(line, fields);
      continue;
    }
    if (fields.data !== undefined || fields.retryMs !== undefined) yield messageOf(fields);
    fields = {};
  }
}

function readField(line: string, fields: Fields): void {
  const colon = line.indexOf(":");
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "data") (fields.data ??= []).push(value);
  else if (name === "event") fields.event = value;
  else if (name === "id" && !value.includes("\0")) fields.id = value;
  else if (name === "retry" && /^\d+$/.test(value)) fields.retryMs = Number(value);
}

function messageOf({ id, event = "message", data = [], retryMs }: Fields): Message {
  return { id, event, data: data.join("\n"), retryMs };
}

/** Yield lines. They end with LF, CR LF or CR; other separators of lines are text. */
async function* linesOf(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let parts: string[] = [];
  let endedWithCr = false;
  for await (const bytes of chunksOf(body, silenceMs)) {
    let text = decoder.decode(bytes, { stream: true });
    if (endedWithCr && text.startsWith("\n")) text = text.slice(1);
    else if (text === "") continue;
    endedWithCr = text.endsWith("\r");
    const [first = "", ...others] = text.split(/\r\n|\n|\r/);
    // The parts of a long line are joined once: it may come in hundreds of chunks.
    parts.push(first);
    for (const next of others) {
      yield parts.join("");
      parts = [next];
    }
  }
}

async function* chunksOf(body: ReadableStream<Uint8Array>, silenceMs: number): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (;;) {
      const { done, value } = await readWithin(reader, silenceMs);
      if (done) return;
      yield value;
    }
  } finally {
    // Not awaited: of a connection that is dead, the end may never come.
    reader.cancel().catch(() => undefined);
  }
}

async function readWithin(
  reader: ReadableStreamDefaultReader<Uint8Array>,
  silenceMs: number,
): Promise<ReadableStreamReadResult<Uint8Array>> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new ConnectionLost(`the stream was silent for ${silenceMs} ms`)), silenceMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } catch (error) {
    throw error instanceof ConnectionLost ? error : new ConnectionLost("the stream broke", { cause: error });
  } finally {
    clearTimeout(timer);
  }
}
