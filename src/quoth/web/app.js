// The page: it follows its address. `go` changes the address, `follow` draws what the address says.

import { outcomeView, summary } from "./answer.js";
import { call, onKeyNeeded } from "./api.js";
import { facetsNow, forgetDocuments, loadFacets, namesKnown } from "./catalog.js";
import { askForKey, setUpKeyDialog } from "./dialogs.js";
import { byId, el, fill, say } from "./dom.js";
import { drawFilters, rebuildFilters, setUpFilters } from "./filters.js";
import { drawGrids } from "./grids.js";
import { drawLibrary } from "./library.js";
import { marks } from "./marks.js";
import { problemBox } from "./problem.js";
import { closeReader, openReader, setUpReader } from "./reader.js";
import { checkReceipts, drawReceipts } from "./receipts.js";
import { drawRecent, remember } from "./recent.js";
import { address, asked, fromAddress, NO_FILTERS, placeOf } from "./state.js";
import { talkAbout, talkedAbout } from "./talk.js";
import { uploadForm } from "./upload.js";
import { counted, language, t } from "./words.js";

let state = fromAddress(location.search);
let answeredFor = null;
let under = new AbortController();
let mayWrite = false;
const TITLES = { ask: "", grid: t("Grid"), documents: t("Documents"), receipts: t("Receipts") };

function go(next, { replace = false, opener = null } = {}) {
  const opens = next.place !== null && state.place === null;
  // Going back closes a reader that was opened here; one that a link opened has nothing to go back to.
  const opened = opens || (next.place !== null && history.state?.opened === true);
  const same = address(next) === address(state);
  if (replace || same || (next.place && !opens)) history.replaceState({ opened }, "", address(next));
  else history.pushState({ opened }, "", address(next));
  follow(next, opener);
}

function follow(next, opener = null) {
  state = next;
  for (const view of Object.keys(TITLES)) {
    byId(`${view}-view`).hidden = view !== state.view;
    byId(`nav-${view}`).setAttribute("aria-current", view === state.view ? "page" : "false");
  }
  document.body.classList.toggle("gridding", state.view === "grid");
  const title = state.view === "ask" ? state.question : TITLES[state.view];
  document.title = title ? `${title} – Quoth` : "Quoth";
  if (state.place) openReader(state.place, opener);
  else closeReader();
  if (state.view === "grid") return void drawGrids(state.grid ?? null, gridPage);
  if (state.view === "receipts") return drawReceipts(receiptPage);
  if (state.view === "documents") {
    if (facetsNow()) drawDocuments();
    return;
  }
  drawFilters(state);
  if (byId("question").value !== state.question) byId("question").value = state.question;
  growBox();
  document.body.classList.toggle("asked", state.question !== "");
  const wanted = JSON.stringify(asked(state));
  if (!state.question) {
    under.abort();
    answeredFor = null;
    fill(byId("result"));
    talkAbout("");
    drawStart();
  } else if (wanted !== answeredFor) {
    fill(byId("start"));
    ask(wanted);
  }
}

async function ask(wanted) {
  under.abort();
  under = new AbortController();
  const { signal } = under;
  answeredFor = wanted;
  const result = byId("result");
  result.setAttribute("aria-busy", "true");
  say(t("Searching the documents …"));
  fill(result, el("p", { class: "loading" }, t("Searching the documents …")));
  try {
    const spoken = language === "en" ? {} : { lang: language };
    const outcome = await call("POST", "/answer", { body: { ...JSON.parse(wanted), ...spoken }, signal });
    await namesKnown();
    if (signal.aborted) return;
    fill(result, outcomeView(outcome, quotePage), marks(outcome, JSON.parse(wanted)));
    say(summary(outcome));
    if (!outcome.understood) standAlone();
    const meant = outcome.understood ?? state.question;
    talkAbout(meant);
    remember({ ...state, question: meant, after: "" });
  } catch (error) {
    if (error.name === "AbortError" || signal.aborted) return;
    if (error.status === undefined) throw error;
    fill(result, problemBox(error, () => (facetsNow() ? ask(wanted) : start())));
  } finally {
    if (!signal.aborted) result.removeAttribute("aria-busy");
  }
}

// The question leans on nothing: neither does its address.
function standAlone() {
  state = { ...state, after: "" };
  answeredFor = JSON.stringify(asked(state));
  history.replaceState(history.state, "", address(state));
}

// What a quote can do on this page.
const quotePage = {
  hrefOf: (quote) => address({ ...state, place: placeOf(quote) }),
  open: (quote, opener) => go({ ...state, place: placeOf(quote) }, { opener }),
  askWithin: (docId) => go({ ...state, docs: [docId], place: null }),
};

const gridPage = { ...quotePage, show: (grid) => go({ ...state, view: "grid", grid, place: null }) };

const receiptPage = { ...quotePage, askWithin: (docId) => askIn(docId) };

function sizeInWords({ documents, sentences, profile }) {
  if (documents === 0) return t("There are no documents yet. Add some under Documents.");
  const parts = [
    counted(documents, "{count} document", "{count} documents"),
    counted(sentences, "{count} sentence", "{count} sentences"),
  ];
  return [...parts, t("profile {profile}", { profile })].join(", ");
}

function drawStart() {
  const facets = facetsNow();
  const about = el("p", { class: "fine stats" }, facets ? sizeInWords(facets) : "");
  const recent = el("div");
  drawRecent(recent, (event, chosen) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    go(chosen);
    byId("question").focus();
  });
  fill(byId("start"), about, recent);
}

let uploading = null;

function drawDocuments() {
  mayWrite = facetsNow()?.uploads === true;
  if (!mayWrite) {
    uploading = null;
    fill(byId("upload"));
  } else if (!uploading) {
    uploading = uploadForm({ arrived: () => refresh(), refused: onlyReading });
    fill(byId("upload"), uploading);
  }
  if (facetsNow()?.documents === 0) {
    const none = el("p", { class: "fine", tabindex: "-1", id: "library-count" }, t("There are no documents yet."));
    return fill(byId("library"), none);
  }
  return drawLibrary(byId("library"), { may: mayWrite, removed: refresh, askIn });
}

function askIn(docId) {
  go({ ...NO_FILTERS, view: "ask", question: "", after: "", docs: [docId], place: null });
  byId("question").focus();
}

// The place that was open is of a text that was replaced: its answer is out of date, too.
function askAgain(docId) {
  if (!state.question) return askIn(docId);
  answeredFor = null;
  go({ ...state, view: "ask", place: null });
  byId("question").focus();
}

function onlyReading(words) {
  uploading = null;
  fill(byId("upload"), el("p", { class: "notice" }, words));
  drawLibrary(byId("library"), { may: false, removed: refresh, askIn });
}

// The documents have changed: what was answered before may not hold any more, and one that is `gone` is no filter.
async function refresh(gone = null) {
  forgetDocuments();
  state = { ...state, docs: state.docs.filter((docId) => docId !== gone) };
  history.replaceState(history.state, "", address(state));
  answeredFor = null;
  await loadFacets();
  rebuildFilters(state);
  if (state.view === "documents") await drawDocuments();
}

// The box grows with a long question.
function growBox() {
  const box = byId("question");
  box.style.height = "";
  const border = box.offsetHeight - box.clientHeight;
  if (box.scrollHeight > box.clientHeight) box.style.height = `${box.scrollHeight + border}px`;
}

function setUpSearch() {
  const box = byId("question");
  box.addEventListener("input", growBox);
  window.addEventListener("resize", growBox);
  box.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    byId("search").requestSubmit();
  });
  byId("search").addEventListener("submit", (event) => {
    event.preventDefault();
    const question = box.value.replace(/\s+/gu, " ").trim();
    if (!question) return box.focus();
    answeredFor = null;
    go({ ...state, view: "ask", question, after: talkedAbout(), place: null });
  });
}

function setUpKeyboard() {
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    const modified = event.ctrlKey || event.metaKey || event.altKey;
    if (event.key !== "/" || modified || typing || document.querySelector("dialog:modal")) return;
    event.preventDefault();
    if (state.view !== "ask") go({ ...state, view: "ask" });
    byId("question").focus();
    byId("question").select();
  });
}

function setUpViews() {
  const links = {
    home: () => ({ ...NO_FILTERS, view: "ask", question: "", after: "", place: null }),
    "nav-ask": () => ({ ...state, view: "ask", place: null }),
    "nav-grid": () => ({ ...state, view: "grid", place: null }),
    "nav-documents": () => ({ ...state, view: "documents", place: null }),
    "nav-receipts": () => ({ ...state, view: "receipts", place: null }),
  };
  for (const [id, target] of Object.entries(links)) {
    byId(id).addEventListener("click", (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      go(target());
      byId(state.view === "ask" ? "question" : `${state.view}-title`).focus();
    });
  }
}

// The service sends the page in the language that is chosen, and again in it from then on.
function setUpLanguages() {
  const menu = byId("languages");
  for (const link of menu.querySelectorAll("a")) {
    if (link.lang === language) link.setAttribute("aria-current", "true");
    link.addEventListener("click", (event) => {
      event.preventDefault();
      const here = address(state);
      location.replace(`${here}${here.includes("?") ? "&" : "?"}lang=${link.lang}`);
    });
  }
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  if (new URLSearchParams(location.search).has("lang")) history.replaceState(history.state, "", address(state));
}

// A file that is dropped anywhere but where documents are uploaded is a receipt.
function setUpDrop() {
  const carried = (event) => (event.defaultPrevented ? [] : [...(event.dataTransfer?.files ?? [])]);
  document.addEventListener("dragover", (event) => {
    if (event.dataTransfer?.types.includes("Files")) event.preventDefault();
  });
  document.addEventListener("drop", (event) => {
    const files = carried(event);
    if (!files.length) return;
    event.preventDefault();
    go({ ...state, view: "receipts", place: null });
    checkReceipts(files, receiptPage);
  });
}

async function begin() {
  onKeyNeeded(askForKey);
  setUpKeyDialog();
  setUpSearch();
  setUpKeyboard();
  setUpViews();
  setUpLanguages();
  setUpDrop();
  setUpFilters({ changed: (filters) => go({ ...state, ...filters, place: null }) });
  setUpReader({
    closed: () => {
      if (history.state?.opened) history.back();
      else go({ ...state, place: null }, { replace: true });
    },
    askAgain,
  });
  window.addEventListener("popstate", () => follow(fromAddress(location.search)));
  if (state.view === "ask" && !state.place) byId("question").focus();
  await start();
}

// A question in the address is asked at once; what it can be filtered by comes meanwhile.
async function start() {
  answeredFor = null;
  follow(fromAddress(location.search));
  try {
    await loadFacets();
  } catch (error) {
    if (error.status === undefined) throw error;
    const documents = state.view === "documents";
    // A question that was asked shows its own problem.
    if (documents || !state.question) fill(byId(documents ? "library" : "result"), problemBox(error, start));
    return;
  }
  if (state.view === "documents") return drawDocuments();
  if (state.view !== "ask") return;
  drawFilters(state);
  if (!state.question) {
    fill(byId("result"));
    drawStart();
  }
}

begin();
