/** Requests to the gateway: sent again when that is safe and may help, and errors as classes. */

import { parse } from "./json.js";
import { ConnectionLost, ProblemError, problemOf } from "./problems.js";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call, and whatever it waits for. */
  readonly signal?: AbortSignal | undefined;
}

/** Where the gateway is, and how to talk to it. */
export interface ConnectionOptions {
  /** The address of the gateway, such as `http://127.0.0.1:8080`. A path in front of its routes is kept. */
  readonly url: string;
  /** An API key, if the gateway needs one. */
  readonly apiKey?: string | undefined;
  /** How often a request is sent again after a broken connection, 429, 502 or 503. Streams come back without end. */
  readonly retries?: number | undefined;
  /** After how many ms without a byte a stream is taken for dead. The gateway's heart beats every 15 s. */
  readonly silenceMs?: number | undefined;
}

/**
 * A request. `again` says that it has the same effect if it is sent twice. One that is `whole` is not cut by its signal
 * once it is under way: its answer says what the gateway made of it.
 */
export interface Request extends CallOptions {
  readonly method?: "GET" | "POST" | "DELETE";
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: BodyInit;
  readonly again?: boolean;
  readonly whole?: boolean;
}

const PASSING: ReadonlySet<number> = new Set([429, 502, 503]);
const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 15_000;

/** A gateway, as the rest of the client sees it. */
export class Connection {
  readonly silenceMs: number;
  readonly #base: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #retries: number;

  constructor({ url, apiKey, retries = 3, silenceMs = 45_000 }: ConnectionOptions) {
    this.#base = new URL(url).href.replace(/\/+$/, "");
    this.#headers = apiKey === undefined ? {} : { Authorization: `Bearer ${apiKey}` };
    this.#retries = retries;
    this.silenceMs = silenceMs;
  }

  /**
   * Send a request until it is answered.
   *
   * @throws ProblemError for every status from 400 on; ConnectionLost; the reason of `signal`.
   */
  async call(path: string, request: Request = {}): Promise<Response> {
    const retries = (request.again ?? true) ? this.#retries : 0;
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.send(path, request);
      } catch (error) {
        if (failures >= retries || !mayPass(error)) throw error;
        await pause(pauseAfter(failures, error), request.signal);
      }
    }
  }

  /** Send a request and read the JSON of its answer. */
  async json<T>(path: string, request?: Request): Promise<T> {
    return bodyOf<T>(await this.call(path, request));
  }

  /** Send a request once. */
  async send(path: string, { method = "GET", query = {}, headers, body, whole, ...options }: Request): Promise<Response> {
    const signal = whole ? undefined : options.signal;
    const url = new URL(this.#base + path);
    for (const [name, value] of Object.entries(query)) {
      for (const each of [value ?? []].flat()) url.searchParams.append(name, String(each));
    }
    const response = await fetch(url, {
      method,
      headers: { ...this.#headers, ...headers },
      signal: signal ?? null,
      // Node sends a stream only if it is told that the answer comes after it.
      ...(body === undefined ? {} : { body, duplex: "half" }),
    }).catch((error: unknown) => {
      throw signal?.aborted ? signal.reason : new ConnectionLost(`${method} ${path}: no connection`, { cause: error });
    });
    if (response.status < 400) return response;
    throw await problemOf(response);
  }
}

/** Read the JSON of a response. */
export async function bodyOf<T>(response: Response): Promise<T> {
  return parse(await response.text()) as T;
}

/** Return whether an error may be gone when the request is sent again. */
export function mayPass(error: unknown): boolean {
  return error instanceof ConnectionLost || (error instanceof ProblemError && PASSING.has(error.status));
}

/** Return how many ms to wait after so many failures: longer each time, never in step with others. */
export function pauseAfter(failures: number, error?: unknown): number {
  const asked = error instanceof ProblemError ? (error.retryAfter ?? 0) * 1000 : 0;
  const own = Math.min(FIRST_PAUSE_MS * 2 ** failures, LONGEST_PAUSE_MS);
  return Math.max(asked, own * (0.5 + Math.random() / 2));
}

/** Wait so many ms, or until the signal says no: then throw its reason. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const stop = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

/** Wait for work, or until the signal says no: then throw its reason, and `undo` the work once it is done. */
export function unlessAborted<T>(work: Promise<T>, undo: (done: T) => unknown, signal?: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      reject(signal?.reason);
      work.then(undo).catch(() => undefined);
    };
    const over = () => signal?.removeEventListener("abort", stop);
    signal?.addEventListener("abort", stop, { once: true });
    work.then(
      (done) => {
        over();
        resolve(done);
      },
      (error: unknown) => {
        over();
        reject(error);
      },
    );
  });
}

/**
 * Join the parts of a path.
 *
 * @throws RangeError for a part that an address cannot hold: it would lead elsewhere.
 */
export function pathOf(...parts: readonly string[]): string {
  const wrong = parts.find((part) => part === "" || part === "." || part === "..");
  if (wrong !== undefined) throw new RangeError(`"${wrong}" cannot be a part of an address`);
  return `/v1/${parts.map(encodeURIComponent).join("/")}`;
}
