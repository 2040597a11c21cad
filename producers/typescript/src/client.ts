/** The client: submit jobs, and look after what is stored. */

import { bodyOf, type CallOptions, Connection, type ConnectionOptions, pathOf, unlessAborted } from "./connection.js";
import { Job, type ResultOptions } from "./job.js";
import { stringify } from "./json.js";
import type {
  BatchBody,
  CollectionBody,
  CollectionList,
  DocumentList,
  Dropped,
  DropResult,
  JobBody,
  JobRequest,
  JobResult,
  Matches,
  UploadBody,
  UploadOutcome,
} from "./openapi.js";
import { linesOf, type Rows } from "./rows.js";

/** The kinds of documents. */
export type Retriever = CollectionBody["kinds"][number];
/** The kind of a job: it decides the types of its request and of its result. */
export type Kind = JobRequest["kind"];
/** The request of a kind. */
export type RequestOf<K extends Kind> = Extract<JobRequest, { readonly kind: K }>;
/** The result of a kind. */
export type ResultOf<K extends Kind> = ResultWith<JobResult, K>;
type ResultWith<R, K> = R extends { readonly kind: infer Kinds } ? (K extends Kinds ? R : never) : never;

/** How to submit. */
export interface SubmitOptions extends CallOptions {
  /** The same key with the same request leads to the same job for 24 hours. Without one the client makes one up. */
  readonly idempotencyKey?: string | undefined;
}

/** What to list. `filter` has conditions such as `company=Nordhav` or `period>=2022`. */
export interface ListOptions extends CallOptions {
  readonly filter?: string | readonly string[] | undefined;
  readonly limit?: number | undefined;
  /** `cursor` of the page before. */
  readonly cursor?: string | undefined;
}

/** What to drop: one document, those that pass a filter, or all. */
export type Selection =
  | { readonly id: string }
  | { readonly filter: string | readonly string[] }
  | { readonly all: true };

const LINES = { "Content-Type": "application/x-ndjson" };

/** A client of a gateway. It holds no connection, so it needs no closing. */
export class Querymill {
  readonly #connection: Connection;

  constructor(options: ConnectionOptions) {
    this.#connection = new Connection(options);
  }

  /**
   * Submit a job of any kind. If `signal` ends the call, the job is cancelled, unless your own key led to a former job.
   *
   * @throws ProblemError: 422 names the fields that break rules, 404 the collection that is unknown, 409 an idempotency
   * key of another request.
   */
  async submit<K extends Kind>(
    request: RequestOf<K> & { readonly kind: K },
    { idempotencyKey, signal }: SubmitOptions = {},
  ): Promise<Job<ResultOf<K>>> {
    signal?.throwIfAborted();
    const headers = { "Content-Type": "application/json", "Idempotency-Key": idempotencyKey ?? newKey() };
    const sent = { method: "POST", headers, body: stringify(request), signal, whole: true } as const;
    const submitted = this.#connection.call("/v1/jobs", sent).then(async (response) => {
      const isOwn = idempotencyKey === undefined || response.headers.get("Idempotent-Replayed") !== "true";
      return { job: this.job<K>((await bodyOf<JobBody>(response)).job_id), isOwn };
    });
    const { job } = await unlessAborted(submitted, ({ job, isOwn }) => isOwn && job.cancel(), signal);
    return job;
  }

  /** Return a job by its id. Nothing is sent. */
  job<K extends Kind = Kind>(id: string): Job<ResultOf<K>> {
    return new Job(this.#connection, id);
  }

  /** Submit a job and wait for its result. If `signal` ends the wait, the job is cancelled. */
  async search<K extends Kind>(
    request: RequestOf<K> & { readonly kind: K },
    { wait, ...options }: SubmitOptions & ResultOptions = {},
  ): Promise<ResultOf<K>> {
    const job = await this.submit<K>(request, options);
    try {
      return await job.result({ wait, signal: options.signal });
    } catch (error) {
      if (options.signal?.aborted) job.cancel().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Ingest rows, as fast as the workers store them. Rows that break rules are named, the others are ingested. With
   * `wait`, in seconds, the answer says what was `stored`, if the ingestion ends in time.
   *
   * @throws ProblemError: 422 if no row was good. What the caller's rows throw.
   */
  async ingest(
    kind: Retriever,
    collection: string,
    rows: Rows,
    { wait, signal }: CallOptions & { wait?: number } = {},
  ): Promise<UploadBody | UploadOutcome> {
    const { body, failure, end } = await linesOf(rows);
    const again = body instanceof Blob;
    const sent = { method: "POST", query: { wait }, headers: LINES, body, again, signal } as const;
    try {
      return await this.#connection.json<UploadBody | UploadOutcome>(pathOf("collections", collection, kind), sent);
    } catch (error) {
      const failed = failure();
      throw failed ? failed.error : error;
    } finally {
      // Node goes on reading a body whose request is over, for ever if the rows have no end.
      end();
    }
  }

  /** Return how far an upload is: its jobs by state. */
  batch(id: string, options: CallOptions = {}): Promise<BatchBody> {
    return this.#connection.json(pathOf("batches", id), options);
  }

  /** Return the collections that the key may see, with the kinds that each holds. */
  async collections(options: CallOptions = {}): Promise<readonly CollectionBody[]> {
    return (await this.#connection.json<CollectionList>(pathOf("collections"), options)).collections;
  }

  /** Return a page of the documents of a collection. Its `cursor` leads to the next page, null after the last. */
  list(kind: Retriever, collection: string, { signal, ...query }: ListOptions = {}): Promise<DocumentList> {
    return this.#connection.json(pathOf("collections", collection, kind), { query, signal });
  }

  /** Return a document whole, as ingestion reads it. */
  show(kind: Retriever, collection: string, id: string, options: CallOptions = {}): Promise<Record<string, unknown>> {
    return this.#connection.json(pathOf("collections", collection, kind, id), options);
  }

  /** Return how many documents pass a filter. */
  async count(kind: Retriever, collection: string, filter: string | readonly string[], { signal }: CallOptions = {}) {
    const sent = { method: "DELETE", query: { filter, dry_run: true }, signal } as const;
    return (await this.#connection.json<Matches>(pathOf("collections", collection, kind), sent)).matches;
  }

  /** Drop documents for good, and wait until they are gone. */
  async drop(
    kind: Retriever,
    collection: string,
    selection: Selection,
    { signal }: CallOptions = {},
  ): Promise<Dropped | DropResult> {
    const { path, query } = selected(kind, collection, selection);
    const response = await this.#connection.call(path, { method: "DELETE", query, signal });
    if (response.status !== 202) return bodyOf<Dropped>(response);
    const { job_id } = await bodyOf<JobBody>(response);
    return this.job<"drop_documents">(job_id).result({ signal });
  }
}

function selected(kind: Retriever, collection: string, selection: Selection) {
  const path = pathOf("collections", collection, kind);
  if ("id" in selection) return { path: pathOf("collections", collection, kind, selection.id), query: {} };
  return { path, query: "filter" in selection ? { filter: selection.filter } : { all: true } };
}

/** A key for one request, so that it can be sent again. Pages that are not served by TLS have no randomUUID. */
function newKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}
