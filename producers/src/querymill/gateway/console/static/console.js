// @ts-check
// The script draws nothing: it fetches the page again and swaps the parts that changed. Without it, every page works
// and is reloaded by hand.

const policy = globalThis.trustedTypes
  ? trustedTypes.createPolicy("querymill", { createHTML: (text) => text })
  : { createHTML: (/** @type {string} */ text) => text };
const $ = (/** @type {string} */ id) => document.getElementById(id);
const live = $("live");
let paused = false;

/** @param {"live" | "paused" | "again" | "ended"} state @param {string} [text] */
function tell(state, text) {
  if (!live) return;
  live.dataset.state = state;
  const said = text ?? { live: "live", paused: "paused", again: "reconnecting", ended: "ended" }[state];
  if (live.textContent !== said) live.textContent = said;
}

async function fetchPage() {
  const answer = await fetch(location.href, { headers: { Accept: "text/html" }, credentials: "same-origin" });
  if (answer.redirected && answer.url.includes("/console/sign-in")) location.assign(answer.url);
  if (!answer.ok) throw new Error(String(answer.status));
  return new DOMParser().parseFromString(/** @type {any} */ (policy.createHTML(await answer.text())), "text/html");
}

/** Swap an element for its newer form; what was opened stays open, and the focus stays where it was.
 * @param {Element} old @param {Element} fresh */
function swap(old, fresh) {
  for (const each of old.querySelectorAll("details[id]")) {
    const again = fresh.querySelector(`#${CSS.escape(each.id)}`);
    if (again) again.toggleAttribute("open", /** @type {HTMLDetailsElement} */ (each).open);
  }
  localise(fresh);
  if (old.isEqualNode(fresh)) return;
  const focused = document.activeElement;
  const key = focused && old.contains(focused) ? keyOf(focused) : "";
  old.replaceWith(document.adoptNode(fresh));
  if (key) /** @type {HTMLElement | null} */ (fresh.querySelector(key))?.focus({ preventScroll: true });
}

/** @param {Element} element */
function keyOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const at = element.getAttribute("href");
  if (at) return `a[href="${CSS.escape(at)}"]`;
  const within = element.closest("details[id]");
  return within ? `#${CSS.escape(within.id)} > summary` : "";
}

/** Every element of the live page that the server renders anew.
 * @param {Document} page */
function swapParts(page) {
  for (const old of document.querySelectorAll("[data-live], #job > section[id]")) {
    const fresh = page.getElementById(old.id);
    if (fresh) swap(old, fresh);
  }
  const job = $("job"), again = page.getElementById("job");
  if (job && again) Object.assign(job.dataset, { ...again.dataset });
  rows(page);
}

/** Rows change in place and never move; new ones wait behind a link.
 * @param {Document} page */
function rows(page) {
  const table = document.querySelector("[data-live-rows]");
  const fresh = page.querySelector("[data-live-rows]");
  if (!table || !fresh) return;
  let newer = 0;
  for (const row of fresh.querySelectorAll("tr[id]")) {
    const old = $(row.id);
    if (old) swap(old, row);
    else newer += 1;
  }
  const box = $("newer"), number = $("newer-count");
  if (box && number && newer) {
    number.textContent = String(newer);
    box.hidden = false;
  }
}

// --- looking again --------------------------------------------------------------------------------------------------

function poll() {
  const part = document.querySelector("[data-live], [data-live-rows]");
  if (!part) return;
  const every = Number(part.getAttribute("data-live") || part.getAttribute("data-live-rows")) * 1000;
  tell("live");
  const look = async () => {
    if (!paused && document.visibilityState === "visible") {
      try {
        swapParts(await fetchPage());
        if (!paused) tell("live");
      } catch {
        tell("again", `as of ${new Date().toLocaleTimeString()}, trying again`);
      }
    }
    setTimeout(look, every);
  };
  setTimeout(look, every);
}

function follow() {
  const job = $("job");
  if (!job) return;
  if (job.dataset.over === "yes") return tell("ended");
  /** @type {EventSource | null} */
  let source = null;
  let attempt = 0, looking = false, again = false, last = 0;

  const look = async () => {
    if (paused) return;
    if (looking) return void (again = true);
    looking = true;
    await new Promise((go) => setTimeout(go, Math.max(0, 150 - (Date.now() - last))));
    last = Date.now();
    try {
      swapParts(await fetchPage());
      attempt = 0;
    } catch {
      retry();
    }
    looking = false;
    if (job.dataset.over === "yes") {
      source?.close();
      tell("ended");
    } else if (again) {
      again = false;
      look();
    }
  };

  const retry = () => {
    source?.close();
    source = null;
    if (job.dataset.over === "yes" || paused) return;
    const wait = Math.min(15_000, 500 * 2 ** attempt++) * (0.75 + Math.random() / 2);
    tell("again", `reconnecting in ${Math.ceil(wait / 1000)} s`);
    setTimeout(open, wait);
  };

  const open = async () => {
    if (source || paused) return;
    await look();
    if (source || job.dataset.over === "yes") return;
    source = new EventSource(`/console/jobs/${job.dataset.job}/events?after=${encodeURIComponent(job.dataset.after || "0-0")}`);
    source.onopen = () => tell("live");
    source.onerror = () => { if (source?.readyState === EventSource.CLOSED) retry(); else tell("again"); };
    for (const type of ["queued", "stage_started", "stage_finished", "hits", "progress", "search_round", "done", "failed", "cancelled", "snapshot"])
      source.addEventListener(type, look);
    source.addEventListener("answer", (event) => {
      const shown = $("answer-live");
      if (!shown) return void look();
      const part = JSON.parse(event.data);
      // Offsets count characters; a string here counts UTF-16 units.
      const text = Array.from(shown.textContent || "");
      shown.textContent = text.slice(0, part.offset).join("") + part.text;
    });
  };

  // What runs grows, though nothing is told of it.
  setInterval(() => { if (source && document.visibilityState === "visible") look(); }, 1000);
  document.addEventListener("querymill:pause", () => {
    if (paused) { source?.close(); source = null; } else open();
  });
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") open();
    else setTimeout(() => { if (document.visibilityState === "hidden") { source?.close(); source = null; } }, 60_000);
  });
  open();
}

function pause() {
  paused = !paused;
  tell(paused ? "paused" : "live");
  document.dispatchEvent(new Event("querymill:pause"));
}

// --- times, keys, copying -------------------------------------------------------------------------------------------

const zone = $("zone");
const showsLocal = () => localStorage.getItem("querymill-zone") === "local";

/** Times are UTC on the page. Shown are these or those of the browser's zone; the title has the other.
 * @param {ParentNode} root */
function localise(root) {
  for (const each of /** @type {NodeListOf<HTMLElement>} */ (root.querySelectorAll("time[data-moment]"))) {
    const utc = (each.dataset.utc ??= each.textContent || "");
    const local = new Date(each.getAttribute("datetime") || "").toLocaleString(undefined, { timeZoneName: "short" });
    each.textContent = showsLocal() ? local : utc;
    each.title = showsLocal() ? utc : local;
  }
}

function nameZone() {
  if (!zone) return;
  const own = Intl.DateTimeFormat().resolvedOptions().timeZone;
  zone.hidden = false;
  zone.textContent = showsLocal() ? own : "UTC";
  zone.title = showsLocal() ? `Times are those of ${own}. Change to UTC.` : `Times are in UTC. Change to ${own}.`;
}
nameZone();
zone?.addEventListener("click", () => {
  localStorage.setItem("querymill-zone", showsLocal() ? "utc" : "local");
  nameZone();
  localise(document);
});

/** @param {number} by */
function step(by) {
  const links = [.../** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-open]"))];
  const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
  links[Math.min(Math.max(at + by, 0), links.length - 1)]?.focus();
}

/** @param {string} text */
async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    tell(paused ? "paused" : "live", "copied");
  } catch { /* the clipboard needs a secure context; the text stays selectable */ }
}

let after = "";
document.addEventListener("keydown", (event) => {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || localStorage.getItem("querymill-keys") === "off") return;
  if (target.closest("input, textarea, select, dialog, [contenteditable]")) return void (event.key === "Escape" && leave(target));
  const key = event.key, former = after;
  after = "";
  if (former === "g") {
    const link = /** @type {HTMLAnchorElement | null} */ (document.querySelector(`[data-key="${CSS.escape(key)}"]`));
    if (link) location.assign(link.href);
  } else if (key === "g") after = "g";
  else if (key === "j") step(1);
  else if (key === "k") step(-1);
  else if (key === "p") pause();
  else if (key === "c") copy(location.href);
  else if (key === "?") help();
  else if (key === "/") {
    const fields = ["main textarea", "main input:not([type=hidden]):not([type=checkbox])", "main .chips a"];
    const field = /** @type {HTMLTextAreaElement | null} */ (fields.map((each) => document.querySelector(each)).find(Boolean));
    field?.focus();
    field?.select?.();
  } else return;
  event.preventDefault();
});

// Enter asks, as in every search field; Shift and Enter begin a new line. One that ends a Chinese word asks nothing.
document.addEventListener("keydown", (event) => {
  const field = /** @type {HTMLElement} */ (event.target).closest("textarea");
  if (event.key !== "Enter" || event.isComposing || !field) return;
  if (event.ctrlKey || event.metaKey || ("asks" in field.dataset && !event.shiftKey && !event.altKey)) {
    event.preventDefault();
    field.form?.requestSubmit();
  }
});

/** @param {HTMLElement} field */
function leave(field) {
  if (!field.closest("dialog")) field.blur();
}

function help() {
  const dialog = /** @type {HTMLDialogElement | null} */ ($("help"));
  dialog?.showModal();
}

const button = $("help-button"), off = /** @type {HTMLInputElement | null} */ ($("keys-off"));
if (button) { button.hidden = false; button.addEventListener("click", help); }
if (off) {
  off.checked = localStorage.getItem("querymill-keys") === "off";
  off.addEventListener("change", () => localStorage.setItem("querymill-keys", off.checked ? "off" : "on"));
}
document.addEventListener("click", (event) => {
  const from = /** @type {HTMLElement} */ (event.target).closest("[data-copy]")?.getAttribute("data-copy");
  if (from) copy($(from)?.textContent || "");
});
// A page that cannot be drawn, such as one of a locked file, leaves its place to the text.
for (const image of /** @type {NodeListOf<HTMLImageElement>} */ (document.querySelectorAll("figure img"))) {
  const leave = () => { image.closest(".beside")?.classList.remove("beside"); image.closest("figure")?.remove(); };
  if (image.complete && !image.naturalWidth) leave();
  else image.addEventListener("error", leave);
}
localise(document);
poll();
follow();
