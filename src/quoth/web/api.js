// The calls to the service. Each gives its result or throws a Problem, in words for people.

import { keptForTab } from "./kept.js";
import { t } from "./words.js";

const KEY = "quoth.key";

export class Problem extends Error {
  constructor({ status, code, message, hint, retryAfter }) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
    this.retryAfter = retryAfter;
  }
}

export const key = {
  held: () => keptForTab.get(KEY),
  hold: (token) => keptForTab.set(KEY, token),
  forget: () => keptForTab.set(KEY, null),
};

let keyAsker = async () => false;
let asking = null;

// `asker(problem)` shows the key dialog and tells whether a key was given.
export function onKeyNeeded(asker) {
  keyAsker = asker;
}

// Several calls may be refused at once: they share one dialog.
function keyGiven(problem) {
  asking ??= keyAsker(problem).finally(() => {
    asking = null;
  });
  return asking;
}

export function documentPath(docId, rest = "") {
  return `/documents/${docId.split("/").map(encodeURIComponent).join("/")}${rest}`;
}

function headers(more = {}) {
  const token = key.held();
  return token ? { ...more, Authorization: `Bearer ${token}` } : more;
}

function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function unreachable() {
  const offline = navigator.onLine === false;
  return new Problem({
    status: 0,
    code: offline ? "offline" : "unreachable",
    message: offline ? t("This device is offline.") : t("The service cannot be reached."),
    hint: offline ? t("Connect again, and then retry.") : t("It may be starting, or stopped. Retry in a moment."),
    retryAfter: null,
  });
}

function problemOf(status, text, retryAfter) {
  const error = parsed(text)?.error ?? {};
  const seconds = Number.parseInt(retryAfter ?? "", 10);
  return new Problem({
    status,
    code: error.code ?? `status-${status}`,
    message: error.message ?? t("The service answered with status {status}.", { status }),
    hint: error.hint ?? "",
    retryAfter: Number.isFinite(seconds) ? seconds : null,
  });
}

// A body is a value that becomes JSON, or a file that goes as it is.
async function once(method, path, { body, signal, as }) {
  const isFile = body instanceof Blob;
  const kind = isFile ? "application/jsonl" : "application/json";
  let reply;
  try {
    reply = await fetch(path, {
      method,
      signal,
      headers: headers(body === undefined ? {} : { "Content-Type": kind }),
      body: body === undefined || isFile ? body : JSON.stringify(body),
      cache: "no-store",
    });
    if (!reply.ok) throw problemOf(reply.status, await reply.text(), reply.headers.get("Retry-After"));
    return await reply[as]();
  } catch (error) {
    if (error instanceof Problem || error.name === "AbortError") throw error;
    throw unreachable();
  }
}

async function withKey(attempt) {
  for (;;) {
    const used = key.held();
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Problem) || error.status !== 401) throw error;
      // Another call may have got a new key while this one was under way.
      if (key.held() === used && !(await keyGiven(error))) throw error;
    }
  }
}

export function call(method, path, { query = null, body, signal, as = "json" } = {}) {
  const full = query ? `${path}?${new URLSearchParams(query)}` : path;
  return withKey(() => once(method, full, { body, signal, as }));
}

// fetch() does not tell how much of a body was sent, so a file goes with XMLHttpRequest.
function sendOnce(path, file, onSent) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("PUT", path);
    for (const [name, value] of Object.entries(headers({ "Content-Type": "application/octet-stream" }))) {
      request.setRequestHeader(name, value);
    }
    request.upload.addEventListener("progress", (event) => {
      if (event.lengthComputable) onSent(event.loaded, event.total);
    });
    request.addEventListener("error", () => reject(unreachable()));
    request.addEventListener("load", () => {
      const ok = request.status >= 200 && request.status < 300;
      if (ok) resolve(JSON.parse(request.responseText));
      else reject(problemOf(request.status, request.responseText, request.getResponseHeader("Retry-After")));
    });
    request.send(file);
  });
}

export function send(path, query, file, onSent) {
  return withKey(() => sendOnce(`${path}?${new URLSearchParams(query)}`, file, onSent));
}

// `onStep(job)` is told about each look; gives the job when it is done, and throws what it failed of. Jobs are at `path`.
export async function finished(job, onStep, path = "/jobs") {
  let wait = 250;
  for (;;) {
    onStep(job);
    if (job.state === "done") return job;
    if (job.state === "failed") throw new Problem({ status: null, retryAfter: null, ...job.error });
    await new Promise((resolve) => setTimeout(resolve, wait));
    wait = Math.min(wait * 1.5, 2000);
    try {
      job = await call("GET", `${path}/${encodeURIComponent(job.id)}`);
    } catch (error) {
      if (error.status !== 429 && error.status !== 503) throw error;
      wait = 1000 * (error.retryAfter ?? 5);
    }
  }
}
