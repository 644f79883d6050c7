// One quoted sentence: the words first, then where they stand and what they are worth.

import { titled, titleFor } from "./catalog.js";
import { copyMenu } from "./copy.js";
import { el, foreign, worded } from "./dom.js";

export function bar(value, { name, text }) {
  const part = Math.max(0, Math.min(1, value));
  const filled = el("span", { class: "filled" });
  filled.style.width = `${100 * part}%`;
  return el(
    "span",
    {
      class: "bar",
      role: "meter",
      "aria-label": name,
      "aria-valuemin": "0",
      "aria-valuemax": "1",
      "aria-valuenow": part.toFixed(2),
      "aria-valuetext": text,
    },
    filled,
  );
}

// A row "| a | b |" or "a | b" as cells; one cell is no row.
function cells(row) {
  const inner = row.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "");
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim());
}

function tableOf(quote) {
  if (quote.region !== "table_row" || !quote.lead) return null;
  const head = cells(quote.lead.text);
  const row = cells(quote.text);
  if (head.length < 2 || head.length !== row.length) return null;
  return el(
    "table",
    {},
    el("thead", {}, el("tr", {}, head.map((cell) => el("th", { scope: "col", dir: "auto" }, cell)))),
    el("tbody", {}, el("tr", {}, row.map((cell) => el("td", { dir: "auto" }, cell)))),
  );
}

// Whoever selects words with the mouse does not want to leave them.
function isSelecting(event, link) {
  const selection = window.getSelection();
  return event.detail > 0 && !selection.isCollapsed && selection.containsNode(link, true);
}

// The words are a link to their place, so that Enter opens it and a new tab can.
export function quoted(quote, { href, open }) {
  const table = tableOf(quote);
  const words = table ?? el("span", { class: quote.region === "code" ? "words code" : "words", dir: "auto" }, quote.text);
  const link = el(
    "a",
    {
      class: "open",
      href,
      draggable: "false",
      title: "Read it in its document",
      on: {
        click: (event) => {
          if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
          event.preventDefault();
          if (!isSelecting(event, link)) open(link);
        },
      },
    },
    words,
  );
  const lead = quote.lead && !table ? el("p", { class: "lead", dir: "auto" }, quote.lead.text) : null;
  return el("blockquote", { class: "foreign" }, lead, link);
}

export function sectionPath(section) {
  const steps = section.flatMap((heading, i) => [i ? " › " : null, foreign(heading)]);
  return steps.length ? el("span", { class: "section" }, el("span", { class: "unseen" }, "Section "), steps) : null;
}

export function badge(authority) {
  return authority ? el("span", { class: `badge ${authority}` }, authority) : null;
}

export function titleOf(docId, name = null) {
  const node = foreign(name ?? docId, { class: "foreign doc-title" });
  if (name === null) titled(node, docId);
  return node;
}

function tagList(quote) {
  const tags = Object.entries(quote.all_tags ?? {}).flatMap(([facet, values]) => values.map((value) => [facet, value]));
  if (!tags.length) return null;
  const items = tags.map(([facet, value]) => el("li", {}, el("span", { class: "facet" }, `${worded(facet)} `), foreign(value)));
  return el("ul", { class: "tags", "aria-label": "Tags" }, items);
}

function replaced(quote, askWithin) {
  return (quote.superseded_by ?? []).map(({ section, by }) => {
    const successor = el("button", { type: "button", class: "linklike", on: { click: () => askWithin(by) } }, titleOf(by));
    return el(
      "p",
      { class: "superseded-note" },
      el("strong", {}, "Superseded. "),
      section ? [foreign(section), " is replaced by "] : "Replaced by ",
      successor,
      ". ",
      el("span", { class: "fine" }, "Select it to ask there."),
    );
  });
}

function ocrNote(quote) {
  if (quote.ocr_confidence === null || quote.ocr_confidence === undefined) return null;
  const sure = Math.round(100 * quote.ocr_confidence);
  return el("p", { class: "fine ocr" }, `Read from a picture of the page: the recogniser was ${sure} % sure. Compare with the page.`);
}

// Many documents begin with their title as a heading; it need not be said twice.
async function withoutTitle(path, quote) {
  if (quote.section.length > 1 && quote.section[0] === (await titleFor(quote.doc_id))) path.replaceWith(sectionPath(quote.section.slice(1)));
}

function meta(quote) {
  const path = sectionPath(quote.section);
  if (path) withoutTitle(path, quote);
  return el(
    "div",
    { class: "meta" },
    el(
      "p",
      { class: "source" },
      el("cite", {}, titleOf(quote.doc_id, quote.document_name ?? null)),
      badge(quote.authority),
      quote.document_type ? el("span", { class: "kind" }, foreign(worded(quote.document_type))) : null,
      quote.effective_date ? el("span", { class: "since" }, "in effect ", el("time", { datetime: quote.effective_date }, quote.effective_date)) : null,
    ),
    el(
      "p",
      { class: "where" },
      path,
      quote.page ? el("span", { class: "page" }, `page ${quote.page}`) : null,
    ),
  );
}

function score(value) {
  return el("span", { class: "score" }, bar(value, { name: "Score", text: `score ${value.toFixed(2)}` }), el("span", { "aria-hidden": "true" }, value.toFixed(2)));
}

function place(quote) {
  return el("span", { class: "place" }, el("span", { class: "unseen" }, "Place "), foreign(quote.doc_id), ` ${quote.start}–${quote.end}`);
}

// `page` gives what a quote can do: `hrefOf(quote)`, `open(quote, link)`, `askWithin(docId)`.
export function quoteCard(quote, page, { companions = [], extra = null } = {}) {
  const superseded = (quote.superseded_by ?? []).length > 0;
  const link = { href: page.hrefOf(quote), open: (from) => page.open(quote, from) };
  const attached = companions.map((one) =>
    el(
      "div",
      { class: "companion" },
      el("p", { class: "fine" }, one.start < quote.start ? "Read with what stands before it:" : "Read with what follows it:"),
      quoted(one, { href: page.hrefOf(one), open: (from) => page.open(one, from) }),
      el("div", { class: "under" }, ocrNote(one), copyMenu(one)),
    ),
  );
  return el(
    "article",
    { class: superseded ? "quote superseded" : "quote" },
    replaced(quote, page.askWithin),
    quoted(quote, link),
    attached,
    meta(quote),
    ocrNote(quote),
    extra,
    el("div", { class: "under" }, score(quote.score), tagList(quote), place(quote), copyMenu(quote)),
  );
}
