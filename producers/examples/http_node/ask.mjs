// A chat backend in another language: nothing but HTTP. Run it with Node 20 or newer:
//   QUERYMILL_URL=http://127.0.0.1:8080 node ask.mjs filings "How many ships?"
// It submits a question, prints hits while the work goes on, and goes on reading where it was if the connection breaks.

const base = process.env.QUERYMILL_URL ?? "http://127.0.0.1:8080";
const key = process.env.QUERYMILL_API_KEY;
const headers = key ? { Authorization: `Bearer ${key}` } : {};
const [collection, query] = process.argv.slice(2);

async function call(path, options = {}) {
  const response = await fetch(base + path, { ...options, headers: { ...headers, ...options.headers } });
  if (response.ok) return response;
  const problem = await response.json();
  throw new Error([problem.detail, ...(problem.errors ?? []).map((e) => `${e.field}: ${e.rule}`)].join("; "));
}

async function submit(request, turn) {
  const response = await call("/v1/jobs", {
    method: "POST",
    headers: { "Content-Type": "application/json", "Idempotency-Key": turn },
    body: JSON.stringify(request),
  });
  return (await response.json()).job_id;
}

// Yields each event once, whatever happens to the connection: the id of the last one is where to go on.
async function* events(jobId) {
  let last = "";
  for (;;) {
    try {
      const response = await call(`/v1/jobs/${jobId}/events`, { headers: last ? { "Last-Event-ID": last } : {} });
      if (response.status === 204) return;
      for await (const event of parse(response.body)) {
        last = event.id ?? last;
        if (event.data) yield JSON.parse(event.data);
        if (["done", "failed", "cancelled"].includes(event.event)) return;
      }
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // fetch reports a broken connection as a TypeError
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

async function* parse(body) {
  let text = "";
  for await (const part of body.pipeThrough(new TextDecoderStream())) {
    text += part;
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const lines = text.slice(0, end).split("\n");
      text = text.slice(end + 2);
      yield Object.fromEntries(lines.filter((line) => !line.startsWith(":")).map((line) => line.split(/: (.*)/s, 2)));
    }
  }
}

const jobId = await submit({ kind: "reports", query, collection, deadline: 10 }, `turn-${Date.now()}`);
for await (const event of events(jobId)) {
  console.log(event.type, event.after_stage ?? event.stage ?? "");
}
const result = await (await call(`/v1/jobs/${jobId}/result`)).json();
for (const hit of result.results) console.log(`${hit.score}  ${hit.title}, page ${hit.page ?? hit.number}: ${hit.text}`);
for (const part of result.degraded) console.log(`missing: ${part.stage}: ${part.reason}`);
