/** What can go wrong, each with a class of its own. */

import type { BrokenRule, JobBody, ProblemBody } from "./openapi.js";

/** Base class of all errors of this client. */
export class QuerymillError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** The gateway cannot be reached, or the connection broke or fell silent. */
export class ConnectionLost extends QuerymillError {}

/** The job goes on: it was not over in the time that the caller gave. */
export class ResultPending extends QuerymillError {
  constructor(readonly job: JobBody) {
    super(`job ${job.job_id} is ${job.state}`);
  }
}

/**
 * The gateway answered with problem details (RFC 9457).
 *
 * `errors` names each field and the rule that it breaks. `retryAfter` is in seconds.
 */
export class ProblemError extends QuerymillError {
  readonly status: number;
  readonly type: string;
  readonly detail: string;
  readonly errors: readonly BrokenRule[];
  readonly requestId: string;
  readonly jobId: string | undefined;
  readonly retryAfter: number | undefined;

  constructor(body: ProblemBody, retryAfter?: number) {
    super(`${body.status} ${body.title}: ${body.detail}`);
    this.status = body.status;
    this.type = body.type;
    this.detail = body.detail;
    this.errors = body.errors ?? [];
    this.requestId = body.request_id;
    this.jobId = body.job_id ?? undefined;
    this.retryAfter = retryAfter;
  }
}

/** The job ended without a result. `code` says why in a word, `detail` in a sentence. */
export class JobFailed extends ProblemError {
  readonly code: string | undefined;

  constructor(body: ProblemBody, retryAfter?: number) {
    super(body, retryAfter);
    this.code = body.code ?? undefined;
  }
}

/** The job was cancelled. */
export class JobCancelled extends ProblemError {}

/** Make the error of a response that is no success. */
export async function problemOf(response: Response): Promise<ProblemError> {
  const retryAfter = Number(response.headers.get("Retry-After") ?? Number.NaN);
  return errorOf(await bodyOf(response), Number.isFinite(retryAfter) ? retryAfter : undefined);
}

/** Make the error of a problem. */
export function errorOf(body: ProblemBody, retryAfter?: number): ProblemError {
  if (body.type === "/problems/job-failed") return new JobFailed(body, retryAfter);
  if (body.type === "/problems/job-cancelled") return new JobCancelled(body, retryAfter);
  return new ProblemError(body, retryAfter);
}

async function bodyOf(response: Response): Promise<ProblemBody> {
  const { status, statusText } = response;
  const text = await response.text().catch(() => "");
  // A proxy in between has pages of its own.
  const unknown = { type: "about:blank", title: statusText || "Error", status, detail: "", request_id: "" };
  if (!response.headers.get("Content-Type")?.includes("problem+json")) return unknown;
  try {
    return { ...unknown, ...(JSON.parse(text) as ProblemBody) };
  } catch {
    return unknown;
  }
}
