// Receipts: what became of the quotes of a saved receipt in the documents as they are now.

import { call } from "./api.js";
import { bullets, byId, el, fill, foreign, say } from "./dom.js";
import { problemBox, sentence } from "./problem.js";
import { placeLink, quoted, replaced, titleOf } from "./quote.js";
import { counted, t, tNodes } from "./words.js";

const STATES = {
  exact: t("It stands where it stood."),
  moved: t("The same words stand at another place now."),
  changed: t("Its words have changed."),
  gone: t("No document that can be read holds its words any more, and no edited sentence was found."),
  ambiguous: t("Its words stand elsewhere, and nothing tells which place is meant."),
  unreadable: t("Its document cannot be read now."),
};

let under = new AbortController();

// `page` gives what a quote can do: `hrefOf(place)`, `open(place, link)` and `askWithin(docId)`.
export function drawReceipts(page) {
  const form = byId("receipts-form");
  if (form.childElementCount) return;
  const input = el("input", { type: "file", id: "receipt-files", multiple: true, accept: ".json,.jsonl" });
  input.addEventListener("change", () => {
    checkReceipts([...input.files], page);
    input.value = "";
  });
  const label = el("label", { for: "receipt-files" }, t("Choose receipts, or drop them anywhere on the page"));
  fill(form, el("div", { class: "drop" }, label, input));
}

export async function checkReceipts(files, page) {
  under.abort();
  under = new AbortController();
  const { signal } = under;
  const place = byId("receipts-result");
  fill(place, el("p", { class: "loading" }, t("Looking for the quotes …")));
  say(t("Looking for the quotes …"));
  try {
    const found = [];
    for (const file of files) {
      found.push({ file, ...(await call("POST", "/receipts/anchor", { body: file, signal })) });
    }
    fill(place, found.map((one) => fileView(one, page)));
    say(found.map(summary).join(" "));
  } catch (error) {
    if (error.name === "AbortError") return;
    if (error.status === undefined) throw error;
    fill(place, problemBox(error, () => checkReceipts(files, page)));
  }
}

function summary({ file, quotes, refused }) {
  const counts = Object.keys(STATES).map((state) => [quotes.filter((one) => one.outcome === state).length, state]);
  const superseded = [quotes.filter((one) => one.superseded_by.length).length, "superseded"];
  const told = [...counts, superseded].filter(([count]) => count).map(([count, state]) => `${count} ${t(state)}`);
  const refusals = counted(refused.length, "{count} receipt is refused.", "{count} receipts are refused.");
  const bad = refused.length ? ` ${refusals}` : "";
  return `${file.name}: ${[counted(quotes.length, "{count} quote", "{count} quotes"), ...told].join(", ")}.${bad}`;
}

function fileView(found, page) {
  const { quotes, refused } = found;
  const whys = refused.map(({ name, why }) => (quotes.length + refused.length > 1 ? `${name}: ${why}.` : sentence(why)));
  return el(
    "section",
    {},
    el("h2", {}, foreign(found.file.name)),
    el("p", { class: "fine" }, foreign(summary(found))),
    whys.length ? el("div", { class: "notice problem" }, el("h3", {}, t("Refused")), bullets(whys)) : null,
    el("ol", { class: "quotes" }, quotes.map((one) => el("li", {}, anchored(one, page)))),
  );
}

function anchored(one, page) {
  const links = one.places.map((place) => placeLink(place, placed(place), page));
  const superseded = { superseded_by: one.superseded_by.map((by) => ({ section: null, by })) };
  return el(
    "article",
    { class: one.superseded_by.length ? "quote superseded" : "quote" },
    replaced(superseded, page.askWithin),
    one.places.length === 1 ? found(one, one.places[0], page) : el("blockquote", { class: "foreign" }, old(one)),
    el(
      "p",
      { class: "source" },
      el("span", { class: `badge ${one.outcome}` }, t(one.outcome)),
      el("span", {}, STATES[one.outcome]),
    ),
    one.why ? el("p", { class: "fine" }, foreign(sentence(one.why))) : null,
    one.places.length > 1 ? el("ul", { class: "fine places" }, links.map((link) => el("li", {}, link))) : null,
    el(
      "p",
      { class: "fine" },
      tNodes("Quoted for “{question}” from {place}", { question: foreign(one.question), place: foreign(placed(one.was)) }),
      nowIn(one) ?? [],
    ),
  );
}

function placed({ doc_id, start, end }) {
  return `${doc_id} ${start}–${end}`;
}

function nowIn({ outcome, places }) {
  if (places.length !== 1 || outcome === "exact") return null;
  return tNodes(", now in {place}", { place: [titleOf(places[0].doc_id), ` ${places[0].start}–${places[0].end}`] });
}

function old(one) {
  return el("span", { class: "words", dir: "auto" }, one.was.text);
}

// The words as they stand now, as a link to their place; where they changed, with the old ones.
function found(one, place, page) {
  const quote = { ...place, region: "paragraph", lead: null };
  const words = quoted(quote, { href: page.hrefOf(place), open: (from) => page.open(place, from) });
  if (one.edits.length) words.querySelector(".words").replaceChildren(...one.edits.flatMap(edited));
  return words;
}

function edited({ op, a, b }) {
  if (op === "equal") return [`${a} `];
  const named = (tag, name, text) => el(tag, {}, el("span", { class: "unseen" }, `${name}: `), text);
  return [a ? [named("del", t("removed"), a), " "] : [], b ? [named("ins", t("added"), b), " "] : []].flat();
}
