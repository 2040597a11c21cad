/** A client of Querymill's HTTP gateway. */

export {
  type Kind,
  type ListOptions,
  Querymill,
  type RequestOf,
  type ResultOf,
  type Retriever,
  type Selection,
  type SubmitOptions,
} from "./client.js";
export type { CallOptions, ConnectionOptions } from "./connection.js";
export type { EventOptions, Snapshot, StreamedEvent } from "./events.js";
export { Job, type ResultOptions } from "./job.js";
export type * from "./openapi.js";
export { ConnectionLost, JobCancelled, JobFailed, ProblemError, QuerymillError, ResultPending } from "./problems.js";
export type { Rows } from "./rows.js";
export { AnswerText, type Piece, piecesOf, sliceText } from "./text.js";
