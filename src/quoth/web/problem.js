// What went wrong, in words, with a way on.

import { button, el, foreign, say } from "./dom.js";

const TITLES = {
  0: "No connection",
  401: "A key is needed",
  403: "This key may not do that",
  404: "Not found",
  409: "The document has changed",
  413: "Too large",
  415: "This kind of file cannot be read",
  429: "Too many requests",
  503: "The service is busy",
  504: "That took too long",
};

export function waiting(seconds) {
  if (seconds < 90) return seconds === 1 ? "1 second" : `${seconds} seconds`;
  const minutes = Math.ceil(seconds / 60);
  return minutes < 90 ? `${minutes} minutes` : `${Math.ceil(minutes / 60)} hours`;
}

export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(whole) || !whole ? whole : `${whole}.`;
}

// One line, for places with little room.
export function inWords(problem) {
  const parts = [sentence(problem.message), sentence(problem.hint ?? "")];
  if (problem.retryAfter) parts.push(`Try again in ${waiting(problem.retryAfter)}.`);
  return parts.filter(Boolean).join(" ");
}

export function problemBox(problem, retry) {
  const again = button("Try again", retry, { class: "main" });
  if (problem.retryAfter) {
    again.disabled = true;
    setTimeout(() => {
      again.disabled = false;
    }, 1000 * problem.retryAfter);
  }
  const title = TITLES[problem.status] ?? (problem.status >= 500 ? "The service failed" : "This did not work");
  say(`${title}. ${inWords(problem)}`);
  return el(
    "div",
    { class: "notice problem" },
    el("h2", {}, title),
    el("p", {}, foreign(sentence(problem.message))),
    problem.hint ? el("p", {}, foreign(sentence(problem.hint))) : null,
    problem.retryAfter ? el("p", {}, `Try again in ${waiting(problem.retryAfter)}.`) : null,
    el("p", { class: "buttons" }, again),
  );
}
