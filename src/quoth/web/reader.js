// The reader: a quote in its document, as text or on the page. It stands beside the answer, on narrow screens over it.

import { call, documentPath } from "./api.js";
import { copyMenu } from "./copy.js";
import { button, byId, el, fill, foreign, say, worded } from "./dom.js";
import { pageImages } from "./pages.js";
import { problemBox } from "./problem.js";
import { badge, replacedBy, sectionPath, since, titleOf } from "./quote.js";
import { shaOf } from "./state.js";
import { t } from "./words.js";

const AROUND = 800;
const MOST = 20000;
const GROWS = 5;

const wide = matchMedia("(min-width: 68rem)");
let onClose = () => {};
let onAskAgain = () => {};
let opener = null;
let under = new AbortController();
let images = null;
let prefersPage = false;

function show(dialog) {
  if (wide.matches) dialog.show();
  else dialog.showModal();
  byId("shell").classList.add("with-reader");
}

// `askAgain(docId)` is called by whoever wants to know what a document that was replaced says now.
export function setUpReader({ closed, askAgain }) {
  const dialog = byId("reader");
  onClose = closed;
  onAskAgain = askAgain;
  byId("reader-close").addEventListener("click", () => onClose());
  dialog.addEventListener("cancel", (event) => {
    event.preventDefault();
    onClose();
  });
  // A dialog beside the page is not modal, so the browser does not close it on Escape.
  document.addEventListener("keydown", (event) => {
    const other = document.querySelector("dialog.small[open]");
    if (event.key !== "Escape" || event.defaultPrevented || !dialog.open || dialog.matches(":modal") || other) return;
    event.preventDefault();
    onClose();
  });
  wide.addEventListener("change", () => {
    if (!dialog.open) return;
    dialog.close();
    show(dialog);
  });
}

export function closeReader() {
  const dialog = byId("reader");
  if (!dialog.open) return;
  under.abort();
  images?.release();
  images = null;
  dialog.close();
  byId("shell").classList.remove("with-reader");
  fill(byId("reader-body"));
  if (opener?.isConnected) opener.focus();
  else byId("question").focus();
  opener = null;
}

export async function openReader(place, from) {
  const dialog = byId("reader");
  if (from) opener = from;
  if (!dialog.open) show(dialog);
  const title = byId("reader-title");
  fill(title, place.doc);
  title.focus();
  await load(place, AROUND);
}

async function load(place, around) {
  under.abort();
  under = new AbortController();
  const { signal } = under;
  const body = byId("reader-body");
  if (around === AROUND) fill(body, el("p", { class: "loading" }, t("Opening the document …")));
  const query = { start: place.start, end: place.end, around, ...(place.sha ? { sha256: place.sha } : {}) };
  try {
    const span = await call("GET", documentPath(place.doc, "/span"), { query, signal });
    if (signal.aborted) return;
    // From here on it is this very text that is read.
    draw(span, { ...place, sha: shaOf(span) }, around);
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.code === "document-changed") return changed(place.doc);
    fill(body, problemBox(error, () => load(place, around)));
  }
}

// What stands at the place now are other words: nothing is marked.
function changed(docId) {
  images?.release();
  images = null;
  const words = t("This document was replaced after it was cited. What stands at this place now may be other words.");
  const again = button(t("Ask again"), () => onAskAgain(docId), { class: "main" });
  say(`${t("The document has changed")}. ${words}`);
  fill(
    byId("reader-body"),
    el(
      "div",
      { class: "notice problem" },
      el("h2", {}, t("The document has changed")),
      el("p", {}, words),
      el("p", {}, t("Ask again to see what it says today.")),
      el("p", { class: "buttons" }, again),
    ),
  );
}

function draw(span, place, around) {
  fill(byId("reader-title"), foreign(span.title ?? span.doc_id));
  images?.release();
  images = null;
  const text = textView(span, place, around);
  const region = { class: "reader-view", tabindex: "0", role: "region", "aria-label": t("The document around the quote") };
  const view = el("div", region, text);
  fill(byId("reader-body"), about(span), span.pages.length ? switcher(span, view, text) : null, view);
  say(t("Opened at the quote in {title}.", { title: span.title ?? span.doc_id }));
  text.querySelector("mark")?.scrollIntoView({ block: "center" });
}

function about(span) {
  const quote = { ...span, text: span.quote };
  const superseded = (span.superseded_by ?? []).map(({ section, by }) =>
    el("p", { class: "superseded-note" }, replacedBy(section), titleOf(by)),
  );
  return el(
    "div",
    { class: "reader-about" },
    superseded,
    el(
      "p",
      { class: "source" },
      badge(span.authority, span.authority_guessed),
      span.document_type ? el("span", { class: "kind" }, foreign(worded(span.document_type))) : null,
      since(span.effective_date),
      span.page ? el("span", { class: "page" }, t("page {page}", { page: span.page })) : null,
    ),
    el("p", { class: "where" }, sectionPath(span.section)),
    copyMenu(quote),
  );
}

// Lines of Markdown that are headings or tables look like it; every character stays.
function lines(text) {
  return text.split(/(?<=\n)/).map((line) => {
    if (/^#{1,6} /.test(line)) return el("span", { class: "line-heading" }, line);
    if (/^\s*\|/.test(line)) return el("span", { class: "line-table" }, line);
    return line;
  });
}

function textView(span, place, around) {
  const more = (truncated, words) => {
    if (!truncated) return null;
    if (around >= MOST) return el("p", { class: "fine" }, t("The document goes on; no more is shown around a quote."));
    return button(words, () => load(place, Math.min(MOST, around * GROWS)), { class: "more" });
  };
  const table = /(^|\n)\s*\|[^\n]*$/.test(span.before) || /^\s*\|/.test(span.quote);
  const mark = el("mark", { class: table ? "line-table" : null }, span.quote);
  return el(
    "div",
    { class: "reader-text" },
    more(span.truncated_before, t("More above")),
    el("div", { class: "doc-text foreign", dir: "auto" }, lines(span.before), mark, lines(span.after)),
    more(span.truncated_after, t("More below")),
  );
}

function switcher(span, view, text) {
  const buttons = {};
  const choose = (page) => {
    prefersPage = page;
    buttons.text.setAttribute("aria-pressed", String(!page));
    buttons.page.setAttribute("aria-pressed", String(page));
    images ??= page ? pageImages(span, { changed: () => changed(span.doc_id) }) : null;
    fill(view, page ? images.node : text);
    if (!page) text.querySelector("mark").scrollIntoView({ block: "center" });
  };
  buttons.text = button(t("Text"), () => choose(false));
  buttons.page = button(t("Page"), () => choose(true));
  const group = el("div", { class: "switch", role: "group", "aria-label": t("Show as") }, buttons.text, buttons.page);
  choose(prefersPage);
  return group;
}
