// Filters: what is in force as chips, and a panel to choose them. They live in the address, not here.

import { facetName, facetsNow, found, nameOf, titled } from "./catalog.js";
import { button, byId, el, fill, foreign, worded } from "./dom.js";
import { inWords } from "./problem.js";
import { countFilters, NO_FILTERS } from "./state.js";
import { t } from "./words.js";

const SHOWN = 40;
const REGIONS = ["references", "back_matter", "masthead"];

let change = () => {};
let state = null;
let panel = null;
let chips = null;
let redraws = [];

// `changed(filters)` is told the new filters: {types, tags, docs, asOf, regions}.
export function setUpFilters({ changed }) {
  change = changed;
}

export function drawFilters(now) {
  state = now;
  const facets = facetsNow();
  if (!facets) return;
  if (!panel) build(facets);
  drawChips();
  redraws.forEach((redraw) => redraw());
}

// After documents came or went there are other values to choose from.
export function rebuildFilters(now) {
  panel = null;
  drawFilters(now);
}

function build(facets) {
  redraws = [];
  chips = el("ul", { class: "chips", "aria-label": t("Filters in force") });
  const types = facets.document_types.map(({ value, documents }) => ({ value, text: worded(value), count: documents }));
  const fields = [
    types.length ? choices(t("Document type"), types, "types") : null,
    ...Object.entries(facets.tags).map(([facet, values]) =>
      choices(
        facetName(facet),
        values.map((value) => ({ value: `${facet}:${value}`, text: nameOf(value) ?? value, count: null })),
        "tags",
      ),
    ),
    facets.documents > 1 ? picker() : null,
    facets.authority ? asOf() : null,
    facets.documents ? regions() : null,
  ].filter(Boolean);
  panel = el("details", { class: "filters" }, el("summary", {}, t("Filters")), el("div", { class: "fields" }, fields));
  panel.addEventListener("toggle", () => redraws.forEach((redraw) => redraw()));
  fill(byId("filter-bar"), fields.length ? panel : null, chips);
}

function toggled(list, value, on) {
  const without = list.filter((one) => one !== value);
  return on ? [...without, value] : without;
}

function checkbox(option, field) {
  const input = el("input", {
    type: "checkbox",
    on: { change: () => change({ [field]: toggled(state[field], option.value, input.checked) }) },
  });
  input.checked = state[field].includes(option.value);
  input.dataset.value = option.value;
  const count = option.count === null ? null : el("span", { class: "count" }, ` ${option.count}`);
  return el("label", { class: "choice" }, input, el("span", {}, foreign(option.text), count));
}

function choices(name, options, field) {
  const boxes = options.map((option) => checkbox(option, field));
  redraws.push(() => {
    for (const box of boxes) {
      const input = box.querySelector("input");
      input.checked = state[field].includes(input.dataset.value);
    }
  });
  return el("fieldset", {}, el("legend", {}, name), el("div", { class: "options" }, boxes));
}

function picker() {
  const list = el("div", { class: "options tall" });
  const note = el("p", { class: "fine", role: "status" });
  let latest = 0;
  const search = el("input", { type: "search", id: "find-document", autocomplete: "off", placeholder: t("Title or id") });
  const draw = async () => {
    const turn = ++latest;
    try {
      const { documents, whole } = await found(search.value);
      if (turn !== latest) return;
      const shown = documents.slice(0, SHOWN);
      const options = shown.map((one) => ({ value: one.doc_id, text: one.title ?? one.doc_id, count: null }));
      fill(list, options.map((option) => checkbox(option, "docs")));
      if (!documents.length) note.textContent = t("No document has that in its title or id.");
      else if (whole && documents.length === shown.length) note.textContent = "";
      else note.textContent = t("Not all are listed: type a part of the title, or how the id begins.");
    } catch (error) {
      note.textContent = inWords(error);
    }
  };
  search.addEventListener("input", draw);
  // The list is fetched when it is wanted, not with every page.
  redraws.push(() => panel.open && draw());
  const label = el("label", { class: "unseen", for: "find-document" }, t("Find a document"));
  return el("fieldset", { class: "picker" }, el("legend", {}, t("Document")), label, search, note, list);
}

function asOf() {
  const input = el("input", { type: "date", id: "as-of" });
  input.addEventListener("change", () => input.validity.valid && change({ asOf: input.value }));
  redraws.push(() => {
    if (input.value !== state.asOf) input.value = state.asOf;
  });
  return el(
    "fieldset",
    {},
    el("legend", {}, t("As of a day")),
    el("label", { class: "unseen", for: "as-of" }, t("Day")),
    input,
    el("p", { class: "fine" }, t("With the documents in effect on that day.")),
  );
}

function regions() {
  const field = choices(t("Beside the text"), REGIONS.map((value) => ({ value, text: worded(value), count: null })), "regions");
  field.append(el("p", { class: "fine" }, t("Asks these parts of the documents instead of their text.")));
  return field;
}

function chip(name, text, without) {
  const remove = button("×", () => {
    const place = [...chips.children].indexOf(item);
    change(without);
    const next = chips.querySelectorAll("button")[place] ?? panel.querySelector("summary");
    next.focus();
  });
  remove.setAttribute("aria-label", t("Remove the filter {name}", { name }));
  const item = el("li", { class: "chip" }, el("span", { class: "facet" }, `${name} `), text, remove);
  return item;
}

function drawChips() {
  const items = [
    ...state.types.map((type) => chip(t("type"), foreign(worded(type)), { types: toggled(state.types, type, false) })),
    ...state.tags.map((tag) => {
      const colon = tag.indexOf(":");
      const [facet, value] = [tag.slice(0, colon), tag.slice(colon + 1)];
      return chip(facetName(facet), foreign(nameOf(value) ?? value), { tags: toggled(state.tags, tag, false) });
    }),
    ...state.docs.map((doc) => {
      const title = foreign(doc);
      titled(title, doc);
      return chip(t("document"), title, { docs: toggled(state.docs, doc, false) });
    }),
    state.asOf ? chip(t("as of"), state.asOf, { asOf: "" }) : null,
    ...state.regions.map((region) => chip(t("beside the text"), worded(region), { regions: toggled(state.regions, region, false) })),
  ].filter(Boolean);
  const clear = button(t("Clear all"), () => change(NO_FILTERS), { class: "linklike" });
  fill(chips, items, items.length > 1 ? el("li", {}, clear) : null);
  chips.hidden = !countFilters(state);
  panel.querySelector("summary").textContent = items.length
    ? t("Filters ({count} in force)", { count: items.length })
    : t("Filters");
}
