// One quoted sentence: the words first, then where they stand and what they are worth.

import { facetName, nameOf, titled } from "./catalog.js";
import { copyMenu } from "./copy.js";
import { button, el, foreign, worded } from "./dom.js";
import { fixed, t, tNodes } from "./words.js";

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

// The service gives the words that answer as parts of their own: the second of every two.
function marked(text, number) {
  return number % 2 ? el("strong", { class: "answers" }, text) : text;
}

function partsOf(quote) {
  return quote.display_parts ?? [shown(quote)];
}

// The parts of a row "| a | b |" or "a | b" as cells; one cell is no row.
function cells(parts) {
  const row = [[]];
  parts.forEach((part, number) => {
    part.split(/(?<!\\)\|/).forEach((text, at) => {
      if (at) row.push([]);
      if (text.trim()) row.at(-1).push(marked(text, number));
    });
  });
  const first = row[0].length ? 0 : 1;
  return row.slice(first, row.at(-1).length ? undefined : -1);
}

// The words for people: on one line, with words joined that a line break hyphenates. Copies take the exact `text`.
export function shown(quote) {
  return quote.display ?? quote.text;
}

function tableOf(quote) {
  if (quote.region !== "table_row" || !quote.lead) return null;
  const head = cells([shown(quote.lead)]);
  const row = cells(partsOf(quote));
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
  const look = quote.region === "code" ? "words code" : "words";
  const words = table ?? el("span", { class: look, dir: "auto" }, partsOf(quote).map(marked));
  const link = el(
    "a",
    {
      class: "open",
      href,
      draggable: "false",
      title: t("Read it in its document"),
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
  const lead = quote.lead && !table ? el("p", { class: "lead", dir: "auto" }, shown(quote.lead)) : null;
  return el("blockquote", { class: "foreign" }, lead, link);
}

export function sectionPath(section) {
  const steps = section.flatMap((heading, i) => [i ? " › " : null, foreign(heading)]);
  return steps.length ? el("span", { class: "section" }, el("span", { class: "unseen" }, `${t("Section")} `), steps) : null;
}

// `guessed`: the type was read from the document's own title, and nobody has confirmed it.
export function badge(authority, guessed = false) {
  if (!authority) return null;
  const title = guessed ? t("Read from the title of the document; nobody has confirmed it.") : null;
  return el("span", { class: `badge ${authority}`, title }, guessed ? t("{authority}, guessed", { authority: t(authority) }) : t(authority));
}

export function since(day) {
  return day ? el("span", { class: "since" }, tNodes("in effect {day}", { day: el("time", { datetime: day }, day) })) : null;
}

export function titleOf(docId, name = null) {
  const node = foreign(name ?? docId, { class: "foreign doc-title" });
  if (name === null) titled(node, docId);
  return node;
}

function tagList(quote) {
  const tags = Object.entries(quote.all_tags ?? {}).flatMap(([facet, values]) => values.map((value) => [facet, value]));
  if (!tags.length) return null;
  const named = (facet) => el("span", { class: "facet" }, `${facetName(facet)} `);
  const items = tags.map(([facet, value]) => el("li", {}, named(facet), foreign(nameOf(value) ?? value)));
  return el("ul", { class: "tags", "aria-label": t("Tags") }, items);
}

// What a rule that is no longer in force begins with; its successor follows.
export function replacedBy(section) {
  const what = section ? tNodes("{section} is replaced by", { section: foreign(section) }) : [t("Replaced by")];
  return [el("strong", {}, `${t("Superseded.")} `), ...what, " "];
}

export function replaced(quote, askWithin) {
  return (quote.superseded_by ?? []).map(({ section, by }) => {
    const successor = button(titleOf(by), () => askWithin(by), { class: "linklike" });
    return el(
      "p",
      { class: "superseded-note" },
      replacedBy(section),
      successor,
      ". ",
      el("span", { class: "fine" }, t("Select it to ask there.")),
    );
  });
}

function ocrNote(quote) {
  if (quote.ocr_confidence === null || quote.ocr_confidence === undefined) return null;
  const sure = Math.round(100 * quote.ocr_confidence);
  const words = t("Read from a picture of the page: the recogniser was {sure} % sure. Compare with the page.", { sure });
  return el("p", { class: "fine ocr" }, words);
}

// The source in short; the reader shows the title and all headings.
function meta(quote) {
  return el(
    "div",
    { class: "meta" },
    el(
      "p",
      { class: "source" },
      el("cite", {}, foreign(quote.label, { class: "foreign doc-title" })),
      badge(quote.authority, quote.authority_guessed),
      quote.role === "context" && !quote.why ? el("span", { class: "badge context" }, t("context")) : null,
    ),
    el(
      "p",
      { class: "where" },
      quote.document_type ? el("span", { class: "kind" }, foreign(worded(quote.document_type))) : null,
      since(quote.effective_date),
    ),
  );
}

function score(value) {
  const text = fixed(value);
  const shown = bar(value, { name: t("Score"), text: t("score {value}", { value: text }) });
  return el("span", { class: "score" }, shown, el("span", { "aria-hidden": "true" }, text));
}

function place(quote) {
  const label = el("span", { class: "unseen" }, `${t("Place")} `);
  return el("span", { class: "place" }, label, foreign(quote.doc_id), ` ${quote.start}–${quote.end}`);
}

function sameLead(one, quote) {
  const listed = one.lead && quote.lead && one.region !== "table_row";
  return Boolean(listed) && one.lead.start === quote.lead.start && one.doc_id === quote.doc_id;
}

function withoutLead(one, quote) {
  return sameLead(one, quote) ? { ...one, lead: null } : one;
}

// What a companion is to its quote: another item of its list, a clause from elsewhere, or a sentence beside it.
function readWith(one, quote) {
  const note = (...words) => el("p", { class: "fine" }, words);
  if (sameLead(one, quote)) return note(t("In the same list:"));
  if (one.doc_id !== quote.doc_id || one.section.join("\n") !== quote.section.join("\n")) {
    return note(...tNodes("Read with {place}:", { place: sectionPath(one.section) ?? foreign(one.doc_id) }));
  }
  return note(one.start < quote.start ? t("Read with what stands before it:") : t("Read with what follows it:"));
}

// A link that opens a place in the reader.
export function placeLink(place, name, page) {
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    page.open(place, event.currentTarget);
  };
  return el("a", { href: page.hrefOf(place), on: { click: open } }, foreign(name));
}

// The other places that say the same, as links.
function alsoIn(quote, page) {
  if (!quote.also) return null;
  const links = quote.also.map((place, i) => {
    const one = place.doc_id === quote.doc_id ? { doc_sha256: quote.doc_sha256, ...place } : place;
    const name = one.section.length ? one.section[one.section.length - 1] : `${one.start}–${one.end}`;
    const named = one.doc_id === quote.doc_id ? name : `${one.doc_id}, ${name}`;
    return [i ? ", " : null, placeLink(one, named, page)];
  });
  return el("p", { class: "fine also" }, tNodes("Also in {places}", { places: links.flat() }));
}

// `page` gives what a quote can do: `hrefOf(quote)`, `open(quote, link)`, `askWithin(docId)`, and `receipt()` of its answer.
export function quoteCard(quote, page, { companions = [], extra = null } = {}) {
  const superseded = (quote.superseded_by ?? []).length > 0;
  const link = { href: page.hrefOf(quote), open: (from) => page.open(quote, from) };
  const attached = companions.map((one) =>
    el(
      "div",
      { class: "companion" },
      readWith(one, quote),
      quoted(withoutLead(one, quote), { href: page.hrefOf(one), open: (from) => page.open(one, from) }),
      el("div", { class: "under" }, ocrNote(one), copyMenu(one, page.receipt)),
    ),
  );
  return el(
    "article",
    { class: superseded ? "quote superseded" : "quote" },
    replaced(quote, page.askWithin),
    quoted(quote, link),
    attached,
    meta(quote),
    alsoIn(quote, page),
    ocrNote(quote),
    extra,
    el("div", { class: "under" }, score(quote.score), tagList(quote), place(quote), copyMenu(quote, page.receipt)),
  );
}
