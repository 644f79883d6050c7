"use strict";
const table = document.getElementById("table");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const heads = Array.from(table.tHead.rows[0].cells);
const details = JSON.parse(document.getElementById("details").textContent);
const search = document.getElementById("search");
const questions = document.getElementById("questions");
const kind = document.getElementById("kind");
const least = document.getElementById("least");
const shown = document.getElementById("shown");
const dialog = document.getElementById("dialog");
const texts = rows.map((row) => row.textContent.toLowerCase());
const words = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);

function filter() {
  const sought = words(search);
  const asked = words(questions);
  const columns = heads.map((head, at) => at === 0 || asked.every((word) => head.textContent.toLowerCase().includes(word)));
  const narrowed = kind.value !== "" || Number(least.value) > 0;
  let count = 0;
  heads.forEach((head, at) => { head.hidden = !columns[at]; });
  rows.forEach((row, number) => {
    let fitting = 0;
    for (const cell of Array.from(row.cells).slice(1)) {
      const fits = (!kind.value || cell.dataset.kind === kind.value)
        && 100 * Number(cell.dataset.confidence) >= Number(least.value);
      cell.hidden = !columns[cell.cellIndex];
      cell.classList.toggle("out", narrowed && !fits);
      fitting += fits && !cell.hidden ? 1 : 0;
    }
    row.hidden = !sought.every((word) => texts[number].includes(word)) || (narrowed && fitting === 0);
    count += row.hidden ? 0 : 1;
  });
  shown.textContent = count + " of " + rows.length + " documents";
}

function value(row, column) {
  const cell = row.cells[column];
  if (column === 0) return cell.textContent.toLowerCase();
  // What is stated comes before what is not, however near that was.
  return cell.dataset.kind === undefined ? -2 : Number(cell.dataset.confidence) - (cell.dataset.kind === "stated" ? 0 : 1);
}

function sort(head) {
  const column = head.cellIndex;
  const before = head.getAttribute("aria-sort");
  // Names begin with A, confidences with the highest.
  const descending = before ? before === "ascending" : column > 0;
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const keyed = rows.map((row, place) => [value(row, column), place, row]);
  keyed.sort((a, b) => {
    const order = a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
    return (descending ? -order : order) || a[1] - b[1];
  });
  body.append(...keyed.map((one) => one[2]));
}

function element(name, text, className) {
  const made = document.createElement(name);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function open(cell) {
  const row = cell.parentNode;
  const about = details[Number(row.dataset.row)][cell.cellIndex - 1];
  const verdicts = { "stated": "Stated", "not stated": "Not stated; this came nearest", "superseded": "Stated, but replaced since" };
  document.getElementById("asked").textContent = heads[cell.cellIndex].textContent;
  document.getElementById("where").textContent = Array.from(row.cells[0].children, (part) => part.textContent).join(", ");
  document.getElementById("verdict").textContent =
    verdicts[about.kind] + ", confidence " + Math.round(100 * about.confidence) + "%. " + about.why;
  const quotes = document.getElementById("quotes");
  quotes.replaceChildren();
  for (const quote of about.quotes) {
    const block = document.createElement("blockquote");
    block.append(quote.before, element("mark", quote.text), quote.after);
    quotes.append(block, element("p", [quote.section, quote.place].filter(Boolean).join(", "), "soft"));
  }
  dialog.showModal();
  dialog.scrollTop = 0;
}

function move(cell, key) {
  const step = { ArrowLeft: "previousElementSibling", ArrowRight: "nextElementSibling" }[key];
  let there = cell;
  let row = cell.parentNode;
  do {
    if (step) {
      there = there[step];
    } else {
      row = key === "ArrowUp" ? row.previousElementSibling : row.nextElementSibling;
      there = row && row.cells[cell.cellIndex];
    }
  } while (there && (there.hidden || row.hidden || there.classList.contains("out") || !there.querySelector("button")));
  if (there) there.querySelector("button").focus();
}

for (const head of heads) head.addEventListener("click", () => sort(head));
body.addEventListener("click", (event) => {
  const cell = event.target.closest("td");
  if (cell && cell.querySelector("button") && !cell.classList.contains("out")) open(cell);
});
body.addEventListener("keydown", (event) => {
  const cell = event.target.closest("td");
  if (cell && event.key.startsWith("Arrow")) {
    event.preventDefault();
    move(cell, event.key);
  }
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
for (const input of [search, questions, least]) input.addEventListener("input", filter);
kind.addEventListener("change", filter);
filter();
