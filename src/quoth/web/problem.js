// What went wrong, in words, with a way on.

import { button, el, foreign, say } from "./dom.js";
import { counted, t } from "./words.js";

const TITLES = {
  0: t("No connection"),
  401: t("A key is needed"),
  403: t("This key may not do that"),
  404: t("Not found"),
  409: t("The document has changed"),
  413: t("Too large"),
  415: t("This kind of file cannot be read"),
  429: t("Too many requests"),
  503: t("The service is busy"),
  504: t("That took too long"),
};

export function waiting(seconds) {
  if (seconds < 90) return counted(seconds, "{count} second", "{count} seconds");
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 90) return counted(minutes, "{count} minute", "{count} minutes");
  return counted(Math.ceil(minutes / 60), "{count} hour", "{count} hours");
}

export function sentence(text) {
  const whole = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(whole) || !whole ? whole : `${whole}.`;
}

// One line, for places with little room.
export function inWords(problem) {
  const parts = [sentence(problem.message), sentence(problem.hint ?? "")];
  if (problem.retryAfter) parts.push(t("Try again in {time}.", { time: waiting(problem.retryAfter) }));
  return parts.filter(Boolean).join(" ");
}

export function problemBox(problem, retry) {
  const again = button(t("Try again"), retry, { class: "main" });
  if (problem.retryAfter) {
    again.disabled = true;
    setTimeout(() => {
      again.disabled = false;
    }, 1000 * problem.retryAfter);
  }
  const title = TITLES[problem.status] ?? (problem.status >= 500 ? t("The service failed") : t("This did not work"));
  say(`${title}. ${inWords(problem)}`);
  return el(
    "div",
    { class: "notice problem" },
    el("h2", {}, title),
    el("p", {}, foreign(sentence(problem.message))),
    problem.hint ? el("p", {}, foreign(sentence(problem.hint))) : null,
    problem.retryAfter ? el("p", {}, t("Try again in {time}.", { time: waiting(problem.retryAfter) })) : null,
    el("p", { class: "buttons" }, again),
  );
}
