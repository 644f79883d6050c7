// Recent questions, in this browser only. They can be cleared, and switched off.

import { button, el, fill, foreign, say } from "./dom.js";
import { kept } from "./kept.js";
import { address, countFilters, fromAddress } from "./state.js";
import { counted, t } from "./words.js";

const LIST = "quoth.recent";
const OFF = "quoth.recent.off";
const MOST = 12;

function all() {
  try {
    const list = JSON.parse(kept.get(LIST) ?? "[]");
    return Array.isArray(list) ? list.filter((one) => typeof one === "string" && one.startsWith("/?")) : [];
  } catch {
    return [];
  }
}

// A question is kept as its address, so its filters come back with it.
export function remember(state) {
  if (kept.get(OFF)) return;
  const here = address({ ...state, view: "ask", place: null });
  kept.set(LIST, JSON.stringify([here, ...all().filter((one) => one !== here)].slice(0, MOST)));
}

export function drawRecent(node, go) {
  const list = all();
  const off = el("input", { type: "checkbox", id: "keep-recent" });
  off.checked = !kept.get(OFF);
  off.addEventListener("change", () => {
    kept.set(OFF, off.checked ? null : "yes");
    if (!off.checked) kept.set(LIST, null);
    say(off.checked ? t("Recent questions are kept in this browser.") : t("Recent questions are no longer kept."));
    drawRecent(node, go);
    node.querySelector("#keep-recent").focus();
  });
  const clear = button(t("Clear"), () => {
    kept.set(LIST, null);
    say(t("Recent questions cleared."));
    drawRecent(node, go);
    node.querySelector("#keep-recent").focus();
  }, { class: "linklike", "aria-label": t("Clear recent questions") });
  const items = list.map((one) => {
    const state = fromAddress(one.slice(1));
    const filters = countFilters(state);
    const link = el("a", { href: one, on: { click: (event) => go(event, state) } }, foreign(state.question));
    const many = filters ? el("span", { class: "fine" }, ` ${counted(filters, "{count} filter", "{count} filters")}`) : null;
    return el("li", {}, link, many);
  });
  const title = el("h2", { id: "recent-title" }, t("Recent questions"));
  fill(
    node,
    el(
      "section",
      { class: "recent", "aria-labelledby": "recent-title" },
      el("div", { class: list.length ? "recent-head" : "unseen" }, title, list.length ? clear : null),
      list.length ? el("ul", {}, items) : null,
      el("label", { class: "choice fine" }, off, el("span", {}, t("Keep recent questions in this browser"))),
    ),
  );
}
