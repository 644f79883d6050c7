// An outcome on the page: an answer made of quotes, or an abstention that explains itself.

import { badge, bar, quoteCard, quoted, sectionPath, shown } from "./quote.js";
import { call } from "./api.js";
import { bullets, el, foreign } from "./dom.js";
import { counted, fixed, t, tNodes } from "./words.js";

// What a person can do about it; why there is no answer is said by the service.
const NEXT = {
  no_results: t("Ask with other words, or remove a filter."),
  unknown_entity: t("Check how it is spelled, or ask without it. If it should be there, a document may be missing."),
  ungrounded_number: t("Ask without the number, or look at the nearest sentences below."),
  insufficient_support: t("Too few sentences say so for a safe answer. The nearest are below."),
  low_confidence: t("Ask with the words that the documents use, or look at the nearest sentences below."),
  superseded_only: t("Ask the successor named below, remove a filter, or choose an earlier day to ask what held then."),
};

const DEGRADED = {
  dense: t("The embedding model could not be reached: the words of the question were searched for, not their meaning."),
  evidence: t("The embedding model has no token vectors: the score rests on the search alone."),
  reader: t("The reader was left aside: it judges English alone."),
  rerank: t("The judging model failed: the order is that of the search."),
};

export function confidenceWords(outcome) {
  const value = fixed(outcome.confidence);
  return outcome.run_notes.calibrated ? t("confidence {value}", { value }) : t("score {value}, not calibrated", { value });
}

// What Quoth itself says of the outcome, in the language of the page: the outcome is in English.
function inWords(outcome) {
  const english = {
    reason: outcome.reason?.detail ?? null,
    nearest: outcome.nearest.map(({ why }) => why ?? null),
    conflicts: outcome.conflicts.map(({ detail }) => detail),
    warnings: outcome.run_notes.warnings,
  };
  return outcome.in_words ?? english;
}

function confidence(outcome) {
  const text = confidenceWords(outcome);
  const about = outcome.run_notes.calibrated
    ? t("The probability that these quotes answer the question, fitted to questions about these documents.")
    : t("A score from 0 to 1. It was not fitted to questions about these documents, so it is no probability.");
  const shown = bar(outcome.confidence, { name: t("Confidence"), text });
  return el("p", { class: "confidence", title: about }, shown, el("span", {}, text));
}

function notes(outcome) {
  const { degraded } = outcome.run_notes;
  const without = (part) => DEGRADED[part] ?? t("Done without: {part}.", { part });
  const lines = [...degraded.map(without), ...inWords(outcome).warnings];
  if (!lines.length) return null;
  return el("div", { class: "notice careful" }, el("h3", {}, t("Be careful")), bullets(lines));
}

function listOf(title, texts) {
  if (!texts.length) return null;
  return el("div", { class: "notice" }, el("h3", {}, title), bullets(texts));
}

// `says` are words of the text; where they cannot be found the text stands as it is.
function marked(text, says) {
  const words = says ? says.split(/\s+/u).join(" ") : "";
  const at = words ? text.indexOf(words) : -1;
  if (at < 0) return [text];
  return [text.slice(0, at), el("strong", { class: "says" }, words), text.slice(at + words.length)];
}

function side(statement, page) {
  const link = { href: page.hrefOf(statement), open: (from) => page.open(statement, from) };
  const words = quoted({ ...statement, region: "paragraph", lead: null }, link);
  words.querySelector(".words").replaceChildren(...marked(shown(statement), statement.says));
  return el(
    "li",
    {},
    words,
    el("p", { class: "source" }, el("cite", {}, foreign(statement.document_name)), badge(statement.authority, statement.authority_guessed)),
    el("p", { class: "where" }, sectionPath(statement.section)),
  );
}

function conflict(one, page) {
  return el(
    "section",
    { class: "conflict" },
    el("h3", {}, t("The sources disagree")),
    el("p", { class: "subject" }, tNodes("About the {subject}", { subject: foreign(one.subject) })),
    el("ul", { class: "sides" }, one.statements.map((statement) => side(statement, page))),
    el("p", { class: "fine" }, foreign(one.detail)),
  );
}

function placeOf(quote) {
  return `${quote.doc_id}:${quote.start}-${quote.end}`;
}

// Each side of a conflict is among the quotes, which say which text of its document it is of, and how to show it.
function withTexts(one, quotes) {
  const texts = new Map(quotes.map(({ doc_id, doc_sha256 }) => [doc_id, doc_sha256]));
  const displays = new Map(quotes.map((quote) => [placeOf(quote), quote.display]));
  const known = (side) => ({ doc_sha256: texts.get(side.doc_id), display: displays.get(placeOf(side)), ...side });
  return { ...one, statements: one.statements.map(known) };
}

// Each quote with the sentences that complete it.
function groups(sentences) {
  const heads = new Map();
  for (const one of sentences) if (!one.companion_of) heads.set(placeOf(one), { quote: one, companions: [] });
  for (const one of sentences) {
    if (!one.companion_of) continue;
    const head = heads.get(one.companion_of);
    if (head) head.companions.push(one);
    else heads.set(placeOf(one), { quote: one, companions: [] });
  }
  return [...heads.values()];
}

export function summary(outcome) {
  const understood = outcome.understood ? `${t("Understood as:")} ${outcome.understood} ` : "";
  return understood + inShort(outcome);
}

function inShort(outcome) {
  if (outcome.abstained) return `${heading(outcome)}. ${inWords(outcome).reason}`;
  const quotes = counted(outcome.answer_sentences.length, "{count} quote", "{count} quotes");
  const matters = counted(
    outcome.conflicts.length,
    "The sources disagree in {count} matter.",
    "The sources disagree in {count} matters.",
  );
  const conflicts = outcome.conflicts.length ? ` ${matters}` : "";
  return `${t("Answer: {quotes}, {confidence}.", { quotes, confidence: confidenceWords(outcome) })}${conflicts}`;
}

function answered(outcome, page) {
  const docs = new Set(outcome.answer_sentences.map((one) => one.doc_id));
  const quotes = counted(outcome.answer_sentences.length, "{count} quote", "{count} quotes");
  const documents = counted(docs.size, "{count} document", "{count} documents");
  const cards = groups(outcome.answer_sentences).map(({ quote, companions }) => quoteCard(quote, page, { companions }));
  return [
    el(
      "header",
      { class: "outcome-head" },
      el("h2", {}, t("Answer")),
      el("p", { class: "fine" }, t("{quotes} from {documents}", { quotes, documents })),
      confidence(outcome),
    ),
    notes(outcome),
    outcome.conflicts.map((one, i) => {
      return conflict({ ...withTexts(one, outcome.answer_sentences), detail: inWords(outcome).conflicts[i] }, page);
    }),
    listOf(t("No quoted sentence supports these parts of the question"), outcome.unsupported_parts),
    el("ol", { class: "quotes" }, cards.map((card) => el("li", {}, card))),
    outcome.see_also.length ? seeAlso(outcome.see_also, page) : null,
  ];
}

function seeAlso(near, page) {
  return folded(t("See also"), t("no part of the answer"), near.map((one) => listed({ ...one, role: null }, page)));
}

function listed(one, page, extra = null) {
  return el("li", {}, quoteCard(one, page, { extra }));
}

// What is only near the question: folded away, and marked as no answer.
function folded(title, badge, items) {
  const mark = el("span", { class: "badge not-answer" }, badge);
  return el("details", { class: "nearest" }, el("summary", {}, `${title} `, mark), el("ul", { class: "quotes" }, items));
}

function heading(outcome) {
  return outcome.outcome === "may_be_relevant" ? t("May be relevant") : t("No answer");
}

// What may apply stands open; what is only near is folded away.
function nearestOf(outcome, quotes) {
  if (outcome.outcome !== "may_be_relevant") return folded(t("The nearest that was found"), t("not an answer"), quotes);
  return el(
    "section",
    { class: "nearest", "aria-labelledby": "nearest-title" },
    el("h3", { id: "nearest-title" }, t("This may apply")),
    el("ul", { class: "quotes" }, quotes),
  );
}

function declined(outcome, page) {
  const said = inWords(outcome);
  const nearest = outcome.nearest.map((one, i) => {
    return listed(one, page, said.nearest[i] ? el("p", { class: "why" }, foreign(said.nearest[i])) : null);
  });
  return [
    el("header", { class: "outcome-head" }, el("h2", {}, heading(outcome)), confidence(outcome)),
    el(
      "div",
      { class: "declined" },
      el("p", { class: "detail" }, foreign(said.reason)),
      NEXT[outcome.reason.code] ? el("p", {}, NEXT[outcome.reason.code]) : null,
      outcome.missing.length
        ? el("div", { class: "missing" }, el("p", {}, t("No evidence for:")), bullets(outcome.missing))
        : null,
      listOf(t("Parts of the question without support"), outcome.unsupported_parts),
    ),
    notes(outcome),
    nearest.length ? nearestOf(outcome, nearest) : null,
  ];
}

export function outcomeView(outcome, given) {
  const { in_words: _, ...result } = outcome;
  const receipt = () => call("POST", "/receipts", { body: result, as: "text" });
  const page = { ...given, receipt };
  const parts = outcome.abstained ? declined(outcome, page) : answered(outcome, page);
  // On paper the search box is gone, so the question stands here.
  const question = el("p", { class: "asked-question" }, foreign(outcome.question));
  const understood = outcome.understood
    ? el("p", { class: "understood" }, t("Understood as:"), " ", el("strong", {}, foreign(outcome.understood)))
    : null;
  return el("div", { class: outcome.abstained ? "outcome abstained" : "outcome" }, question, understood, parts.flat());
}

