// Upload: choose or drop files, name them, send them, and watch the service read them.

import { documentPath, finished, send } from "./api.js";
import { facetsNow } from "./catalog.js";
import { bullets, button, el, fill, foreign, say } from "./dom.js";
import { inWords } from "./problem.js";
import { counted, fixed, t } from "./words.js";

let numbered = 0;

function field(label, attributes) {
  const id = `upload-${++numbered}`;
  const input = el("input", { type: "text", id, autocomplete: "off", ...attributes });
  return { input, node: el("p", { class: "field" }, el("label", { for: id }, label), input) };
}

function progress(label) {
  const shown = el("progress", { max: "1", "aria-label": label });
  const words = el("span", { class: "fine" });
  return { node: el("p", { class: "progress" }, shown, words), shown, words };
}

function typesList() {
  const types = facetsNow()?.document_types ?? [];
  return el("datalist", { id: "known-types" }, types.map(({ value }) => el("option", { value })));
}

// `arrived()` is called when documents have come; `refused()` when the key may not write.
export function uploadForm({ arrived, refused }) {
  let rows = [];
  const list = el("ul", { class: "upload-rows", "aria-label": t("Files to upload") });
  const start = button(t("Upload"), () => sendAll(), { class: "main" });
  const clear = button(t("Clear finished"), () => {
    rows = rows.filter((row) => row.state !== "done");
    redraw();
  });
  const actions = el("div", { class: "buttons" }, start, clear);
  const input = el("input", { type: "file", multiple: true, id: "files" });
  input.addEventListener("change", () => {
    add(input.files);
    input.value = "";
  });
  const zone = el(
    "div",
    { class: "drop" },
    el("label", { for: "files" }, t("Choose files, or drop them here")),
    input,
    el("p", { class: "fine" }, t("Text, Markdown, HTML, PDF, Word. A file with the name of a document replaces it.")),
  );

  for (const name of ["dragenter", "dragover"]) {
    zone.addEventListener(name, (event) => {
      event.preventDefault();
      zone.classList.add("over");
    });
  }
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, () => zone.classList.remove("over"));
  zone.addEventListener("drop", (event) => {
    event.preventDefault();
    add(event.dataTransfer.files);
  });

  function add(files) {
    const fresh = [...files].map((file) => newRow(file));
    rows.push(...fresh);
    redraw();
    fresh[0]?.title.input.focus();
    say(counted(fresh.length, "{count} file ready to upload.", "{count} files ready to upload."));
  }

  function newRow(file) {
    const row = {
      file,
      state: "waiting",
      id: field(t("Document id"), { value: file.webkitRelativePath || file.name, required: true }),
      title: field(t("Title (optional)"), {}),
      type: field(t("Document type (optional)"), { list: "known-types" }),
      status: el("div", { class: "upload-status" }),
    };
    const remove = button(t("Remove"), () => {
      rows = rows.filter((one) => one !== row);
      redraw();
      input.focus();
    }, { class: "linklike", "aria-label": t("Do not upload {name}", { name: file.name }) });
    row.fields = el("div", { class: "fields" }, row.id.node, row.title.node, row.type.node);
    const size = el("span", { class: "fine" }, sized(file.size));
    row.head = el("div", { class: "upload-head" }, el("strong", {}, foreign(file.name)), size, remove);
    row.remove = remove;
    row.node = el("li", {}, row.head, row.fields, row.status);
    return row;
  }

  function redraw() {
    fill(list, rows.map((row) => row.node));
    actions.hidden = rows.length === 0;
    start.hidden = !rows.some((row) => row.state === "waiting");
    clear.hidden = !rows.some((row) => row.state === "done");
  }

  async function sendAll() {
    start.disabled = true;
    let any = false;
    // One after another: the service reads them in turn anyway, and the progress stays easy to follow.
    for (const row of rows.filter((one) => one.state === "waiting")) any = (await sendOne(row)) || any;
    start.disabled = false;
    redraw();
    if (any) await arrived();
  }

  async function sendOne(row) {
    const docId = row.id.input.value.trim();
    if (!docId) {
      row.id.input.reportValidity();
      return false;
    }
    row.state = "sending";
    row.fields.hidden = true;
    row.remove.hidden = true;
    const transfer = progress(t("Sending {name}", { name: row.file.name }));
    fill(row.status, transfer.node);
    transfer.words.textContent = t("Sending");
    const query = {};
    if (row.title.input.value.trim()) query.title = row.title.input.value.trim();
    if (row.type.input.value.trim()) query.document_type = row.type.input.value.trim();
    try {
      const job = await send(documentPath(docId), query, row.file, (sent, total) => {
        transfer.shown.value = total ? sent / total : 1;
        transfer.words.textContent = t("Sent {sent} of {total}", { sent: sized(sent), total: sized(total) });
      });
      const reading = progress(t("Reading {name}", { name: row.file.name }));
      fill(row.status, reading.node);
      say(t("{name} was sent. It is being read.", { name: row.file.name }));
      const end = await finished(job, (now) => watch(reading, now));
      row.state = "done";
      const ready = el("p", { class: "done" }, t("Ready: it can be asked about now."));
      fill(row.status, ready, end.notes.length ? el("div", { class: "fine" }, bullets(end.notes)) : null);
      say(t("{name} is ready.", { name: row.file.name }));
      return true;
    } catch (error) {
      failed(row, error);
      return false;
    }
  }

  function failed(row, error) {
    row.state = "waiting";
    row.fields.hidden = false;
    row.remove.hidden = false;
    const words = inWords(error);
    fill(row.status, el("p", { class: "failed" }, el("strong", {}, `${t("Not uploaded.")} `), foreign(words)));
    say(`${t("{name} was not uploaded.", { name: row.file.name })} ${words}`);
    if (error.status === 403) refused(words);
  }

  redraw();
  const title = el("h2", { id: "upload-title" }, t("Add documents"));
  return el("section", { class: "upload", "aria-labelledby": "upload-title" }, title, typesList(), zone, list, actions);
}

function watch({ shown, words }, job) {
  if (job.total) shown.value = job.done / job.total;
  else shown.removeAttribute("value");
  const counts = job.total ? ` (${t("{done} of {total}", { done: job.done, total: job.total })})` : "";
  words.textContent = job.state === "queued" ? t("Waiting for its turn") : `${t(job.step || "Reading")}${counts}`;
}

function sized(bytes) {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${fixed(bytes / 1000, 1)} kB` : `${fixed(bytes / 1_000_000, 1)} MB`;
}
