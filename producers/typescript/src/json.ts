/** JSON whose integers keep their digits: JavaScript's numbers lose those beyond 2^53, as a `faiss_id` may have. */

/** A text or a number. Texts are taken whole, so that what looks like a number in them stays text. */
const TOKEN = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;
const INTEGER = /^-?\d+$/;
const MAY_LOSE_DIGITS = /\d{16}/;

/** Read JSON. An integer that a number cannot hold exactly becomes a bigint. */
export function parse(text: string): unknown {
  if (!MAY_LOSE_DIGITS.test(text)) return JSON.parse(text);
  const mark = markFor();
  let marked = 0;
  const safe = text.replace(TOKEN, (token) => {
    if (!INTEGER.test(token) || Number.isSafeInteger(Number(token))) return token;
    marked += 1;
    return `"${mark}${token}"`;
  });
  if (marked === 0) return JSON.parse(text);
  return JSON.parse(safe, (_, value: unknown) =>
    typeof value === "string" && value.startsWith(mark) ? BigInt(value.slice(mark.length)) : value,
  );
}

/** Write JSON. A bigint becomes an integer with all its digits. */
export function stringify(value: unknown): string {
  const mark = markFor();
  let marked = 0;
  const text = JSON.stringify(value, (_, each: unknown) => {
    if (typeof each !== "bigint") return each;
    marked += 1;
    return `${mark}${each}`;
  });
  return marked === 0 ? text : text.replace(new RegExp(`"${mark}(-?\\d+)"`, "g"), "$1");
}

/** What no text begins with, because nobody can guess it. */
function markFor(): string {
  return `int-${crypto.getRandomValues(new BigUint64Array(2)).join("-")}:`;
}
