/** A job that was submitted. */

import { bodyOf, type CallOptions, type Connection, pathOf, pause } from "./connection.js";
import { type EventOptions, follow, type StreamedEvent } from "./events.js";
import { stringify } from "./json.js";
import type { CancelBody, FeedbackBody, FeedbackResult, JobBody, JobDetail } from "./openapi.js";
import { ResultPending } from "./problems.js";

/** How long to wait. */
export interface ResultOptions extends CallOptions {
  /** In seconds. Without it the call waits until the job is over. */
  readonly wait?: number | undefined;
}

/** Proxies cut a request that is silent for a minute, so one request waits no longer than this, in seconds. */
const ONE_WAIT_S = 50;

const JSON_BODY = { "Content-Type": "application/json" };

/** A job, known by its id. `R` is the type of its result. */
export class Job<R> {
  constructor(
    private readonly connection: Connection,
    readonly id: string,
  ) {}

  /** Return the job with its steps, in any state. */
  show(options: CallOptions = {}): Promise<JobDetail> {
    return this.connection.json(pathOf("jobs", this.id), options);
  }

  /**
   * Wait for the result.
   *
   * @throws JobFailed; JobCancelBody; ResultPending if the time is up: the job goes on; ProblemError.
   */
  async result({ wait = Number.POSITIVE_INFINITY, signal }: ResultOptions = {}): Promise<R> {
    const ends = performance.now() + wait * 1000;
    for (;;) {
      const left = Math.max((ends - performance.now()) / 1000, 0);
      const asked = Math.min(left, ONE_WAIT_S);
      const begun = performance.now();
      const path = `${pathOf("jobs", this.id)}/result`;
      const response = await this.connection.call(path, { query: { wait: asked }, signal });
      if (response.status === 200) return bodyOf<R>(response);
      const job = await bodyOf<JobBody>(response);
      if (performance.now() >= ends) throw new ResultPending(job);
      // A gateway that is about to stop answers at once: another one is asked, but not without a pause.
      if (performance.now() - begun < asked * 900) await pause(Math.min(1_000, ends - performance.now()), signal);
    }
  }

  /** Follow the job: each event once, in order, until the last one. See `follow` for what it throws. */
  events(options: EventOptions = {}): AsyncGenerator<StreamedEvent, void, void> {
    return follow(this.connection, this.id, options);
  }

  /**
   * Keep how relevant a hit of this search is: 0 not, 1 somewhat, 2 relevant, 3 exactly what was asked for. Return the
   * job that keeps it. What is said later of the same hit replaces it.
   *
   * @throws ProblemError: 422 if the job is no search that is done, or has no such hit.
   */
  async feedback(said: FeedbackBody, options: CallOptions = {}): Promise<Job<FeedbackResult>> {
    const sent = { ...options, method: "POST", headers: JSON_BODY, body: stringify(said) } as const;
    const kept = await this.connection.json<JobBody>(`${pathOf("jobs", this.id)}/feedback`, sent);
    return new Job<FeedbackResult>(this.connection, kept.job_id);
  }

  /** Cancel the job. Return false if it was over already. */
  async cancel(options: CallOptions = {}): Promise<boolean> {
    const path = pathOf("jobs", this.id);
    return (await this.connection.json<CancelBody>(path, { ...options, method: "DELETE" })).cancelled;
  }
}
