// Grids: each question asked of each document. A cell opens its quote in the document.

import { call, finished } from "./api.js";
import { documentsPage } from "./catalog.js";
import { button, byId, el, fill, say, toast } from "./dom.js";
import { inWords, problemBox, waiting } from "./problem.js";
import { shown, titleOf } from "./quote.js";
import { setUpTable } from "./table.js";
import { counted, language, t, whole } from "./words.js";

const FILES = { "grid.xlsx": "Excel", "grid.csv": "CSV", "grid.html": t("Web page"), "grid.jsonl": "JSON Lines" };
const MOST_TITLES = 1000;

let drawn = null;
let following = null;

// `page` gives what a quote can do, and `show(gridId)` changes the address to that of a grid.
export async function drawGrids(gridId, page) {
  if (!byId("grid-form").childElementCount) fill(byId("grid-form"), form(page));
  if (gridId !== null && gridId === drawn) return;
  drawn = gridId;
  following = gridId;
  fill(byId("grid-result"));
  if (gridId === null) await drawEarlier(page);
  else await drawGrid(gridId, page);
}

function form(page) {
  const questions = el("textarea", { id: "grid-questions", rows: "6", required: true, dir: "auto", maxlength: "200000" });
  const docs = el("input", { id: "grid-docs", type: "text", autocomplete: "off", dir: "auto", placeholder: t("all of them") });
  const problem = el("div");
  const submit = async (event) => {
    event.preventDefault();
    const asked = questions.value.split("\n").map((line) => line.trim()).filter(Boolean);
    if (!asked.length) return questions.focus();
    const named = docs.value.split(/[,\s]+/u).filter(Boolean);
    const body = { questions: asked.map((question) => ({ question })), ...(named.length ? { docs: named } : {}) };
    fill(problem);
    try {
      page.show((await call("POST", "/grids", { body })).id);
    } catch (error) {
      fill(problem, problemBox(error, () => node.requestSubmit()));
    }
  };
  const node = el(
    "form",
    { class: "grid-form", on: { submit } },
    el("label", { for: "grid-questions" }, t("Questions, one on each line")),
    questions,
    el("label", { for: "grid-docs" }, t("Documents: ids, or patterns such as papers/*.pdf")),
    docs,
    el("p", { class: "buttons" }, el("button", { type: "submit", class: "main" }, t("Make the grid"))),
    problem,
  );
  return node;
}

function sizeOf(job) {
  const documents = counted(job.documents, "{count} document", "{count} documents");
  return `${documents}, ${counted(job.questions, "{count} question", "{count} questions")}`;
}

async function drawEarlier(page) {
  const place = byId("grid-result");
  try {
    const { grids } = await call("GET", "/grids", { query: { limit: 10 } });
    if (following !== null || !grids.length) return;
    const items = grids.map((job) => {
      const name = `${sizeOf(job)}, ${new Date(job.created).toLocaleString(language)}`;
      const state = job.state === "done" ? null : el("span", { class: "fine" }, ` ${t(job.state)}`);
      return el("li", {}, button(name, () => page.show(job.id), { class: "linklike" }), state);
    });
    fill(place, el("h2", {}, t("Earlier grids")), el("ul", { class: "grid-list" }, items));
  } catch (error) {
    fill(place, problemBox(error, () => drawEarlier(page)));
  }
}

async function drawGrid(gridId, page) {
  const place = byId("grid-result");
  const bar = el("progress", { "aria-label": t("Finished cells") });
  const words = el("p", { class: "fine", role: "status" }, t("Waiting for its turn …"));
  const stop = button(t("Stop"), () => removeGrid(gridId, page));
  fill(place, el("div", { class: "grid-progress" }, bar, words, stop));
  try {
    const first = await call("GET", `/grids/${encodeURIComponent(gridId)}`);
    const job = await finished(first, (now) => progress(now, bar, words), "/grids");
    if (following !== gridId) return;
    const text = await call("GET", `/grids/${encodeURIComponent(gridId)}/grid.jsonl`, { as: "text" });
    await documentsPage({ after: null, limit: MOST_TITLES });  // their titles in one call
    if (following !== gridId) return;
    const cells = text.split("\n").filter(Boolean).map((line) => JSON.parse(line));
    const drawnTable = table(cells, page);
    const controls = sifters(cells);
    fill(place, head(job, cells, page), sifting(controls), scrolled(drawnTable));
    setUpTable(drawnTable, controls);
    say(t("The grid is finished: {cells}.", { cells: summary(cells) }));
  } catch (error) {
    if (following === gridId) fill(place, problemBox(error, () => drawGrid(gridId, page)));
  }
}

function progress(job, bar, words) {
  if (job.state !== "running") return;
  bar.max = job.total;
  bar.value = job.done;
  const told = counted(job.total, "{done} of {count} cell", "{done} of {count} cells", { done: whole(job.done) });
  const time = job.seconds_left === null ? "" : waiting(Math.max(1, Math.round(job.seconds_left)));
  words.textContent = time ? t("{done}, about {time} left", { done: told, time }) : told;
}

async function removeGrid(gridId, page) {
  try {
    await call("DELETE", `/grids/${encodeURIComponent(gridId)}`);
    page.show(null);
    byId("grid-title").focus();
  } catch (error) {
    toast(inWords(error));
  }
}

// How many cells there are of each kind that there is.
function kinds(cells) {
  const count = (kind) => cells.filter((cell) => cell.cell === kind).length;
  return ["stated", "not stated", "superseded"].map((kind) => [kind, count(kind)]).filter(([, number]) => number);
}

function summary(cells) {
  return kinds(cells).map(([kind, number]) => `${whole(number)} ${t(kind)}`).join(", ");
}

function head(job, cells, page) {
  const files = Object.entries(FILES).map(([name, words]) => button(words, () => download(job.id, name)));
  return el(
    "div",
    { class: "grid-head" },
    el("h2", {}, sizeOf(job)),
    el("p", { class: "fine" }, t("{cells}. Select a cell to read it in its document.", { cells: summary(cells) })),
    el(
      "div",
      { class: "buttons", role: "group", "aria-label": t("Download as") },
      el("span", { class: "fine" }, t("Download")),
      files,
      button(t("All grids"), () => page.show(null), { class: "quiet" }),
    ),
  );
}

// A link could not send the key.
async function download(gridId, name) {
  try {
    const content = await call("GET", `/grids/${encodeURIComponent(gridId)}/${name}`, { as: "blob" });
    const link = el("a", { href: URL.createObjectURL(content), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  } catch (error) {
    toast(inWords(error));
  }
}

// The controls of `setUpTable`.
function sifters(cells) {
  return {
    find: el("input", { type: "search", autocomplete: "off", dir: "auto" }),
    questions: el("input", { type: "search", autocomplete: "off", dir: "auto" }),
    kind: el(
      "select",
      {},
      el("option", { value: "" }, t("all")),
      kinds(cells).map(([kind]) => el("option", { value: kind }, t(kind))),
    ),
    least: el("input", { type: "number", min: "0", max: "100", step: "5", value: "0" }),
    shown: el("output", { class: "fine" }),
    told: (left, rows) => counted(rows, "{left} of {count} document", "{left} of {count} documents", { left, count: rows }),
  };
}

function sifting(controls) {
  const label = (words, control, unit = "") => el("label", {}, `${words} `, control, unit);
  return el(
    "div",
    { class: "grid-sift", role: "group", "aria-label": t("Filter the table") },
    label(t("Find"), controls.find),
    label(t("Questions"), controls.questions),
    label(t("Cells"), controls.kind),
    label(t("Confidence at least"), controls.least, " %"),
    controls.shown,
  );
}

function scrolled(node) {
  return el("div", { class: "grid-scroll", tabindex: "0", role: "region", "aria-label": t("Table of quotes") }, node);
}

function table(cells, page) {
  const questions = new Map(cells.map((cell) => [cell.question_id, cell.question]));
  const rows = Map.groupBy ? Map.groupBy(cells, (cell) => cell.doc_id) : grouped(cells);
  const sorter = (words, title) => el("th", { scope: "col" }, el("button", { type: "button", title, dir: "auto" }, words));
  const heads = [...questions.values()].map((question) => sorter(question, t("Sort by confidence")));
  const lines = [...rows].map(([docId, row]) => {
    const found = new Map(row.map((cell) => [cell.question_id, cell]));
    const drawnCells = [...questions.keys()].map((id) => cellOf(found.get(id), page));
    return el("tr", {}, el("th", { scope: "row" }, titleOf(docId)), drawnCells);
  });
  const words = t("Documents in rows, questions in columns. The arrow keys move between cells.");
  return el(
    "table",
    { class: "grid" },
    el("caption", { class: "unseen" }, words),
    el("thead", {}, el("tr", {}, sorter(t("Document"), t("Sort by name")), heads)),
    el("tbody", {}, lines),
  );
}

function grouped(cells) {
  const rows = new Map();
  for (const cell of cells) rows.set(cell.doc_id, [...(rows.get(cell.doc_id) ?? []), cell]);
  return rows;
}

function cellOf(cell, page) {
  if (!cell) return el("td");
  const quote = cell.answer_sentences[0] ?? cell.nearest[0] ?? null;
  const stated = cell.cell === "stated";
  const sure = t("{number} %", { number: Math.round(100 * cell.confidence) });
  const where = quote?.page ? `${t("page {page}", { page: quote.page })}, ${sure}` : sure;
  const near = cell.cell === "not stated" ? `${t("nearest:")} ` : "";
  const words = quote ? el("span", { class: "grid-words", dir: "auto" }, near, shown(quote)) : null;
  const inside = [stated ? null : el("em", {}, t(cell.cell)), words, el("small", {}, where)];
  const band = stated ? `band-${Math.min(9, Math.floor(10 * cell.confidence))}` : "absent";
  const attributes = { class: band, "data-kind": cell.cell, "data-confidence": cell.confidence };
  if (!quote) return el("td", attributes, inside);
  const open = (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    page.open(quote, event.currentTarget);
  };
  return el("td", attributes, el("a", { href: page.hrefOf(quote), on: { click: open } }, inside));
}
