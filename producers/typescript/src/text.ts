/**
 * Places in texts. The gateway counts code points, JavaScript counts UTF-16 units: they differ after the first emoji.
 */

import type { AnswerPart } from "./openapi.js";

/** Return the part of a text between two places that the gateway gave. */
export function sliceText(text: string, start: number, end?: number): string {
  return Array.from(text).slice(start, end).join("");
}

/** A piece of a text: marked or not. */
export interface Piece {
  readonly text: string;
  readonly marked: boolean;
}

/** Cut a snippet at its marks. The pieces joined are the snippet. */
export function piecesOf(snippet: string, marks: Iterable<readonly [start: number, end: number]>): Piece[] {
  const characters = Array.from(snippet);
  const pieces: Piece[] = [];
  let from = 0;
  const add = (to: number, marked: boolean) => {
    if (to > from) pieces.push({ text: characters.slice(from, to).join(""), marked });
    from = Math.max(from, to);
  };
  for (const [start, end] of marks) {
    add(start, false);
    add(end, true);
  }
  add(characters.length, false);
  return pieces;
}

/** An answer while it is being written. */
export class AnswerText {
  readonly #characters: string[] = [];

  /** Take a part. It replaces everything from its offset on: a model that starts over begins at 0. */
  add({ offset, text }: Pick<AnswerPart, "offset" | "text">): this {
    this.#characters.length = Math.min(offset, this.#characters.length);
    for (const character of text) this.#characters.push(character);
    return this;
  }

  /** Return the answer so far. */
  toString(): string {
    return this.#characters.join("");
  }
}
