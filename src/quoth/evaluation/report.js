"use strict";
const table = document.getElementById("table");
const body = table.tBodies[0];
const rows = Array.from(body.rows);
const search = document.getElementById("search");
const outcome = document.getElementById("outcome");
const reason = document.getElementById("reason");
const shown = document.getElementById("shown");
const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));

function filter() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const row of rows) {
    const text = texts.get(row);
    const keep = words.every((word) => text.includes(word))
      && (!outcome.value || row.dataset.outcome === outcome.value)
      && (!reason.value || row.dataset.reason === reason.value);
    row.hidden = !keep;
    count += keep ? 1 : 0;
  }
  shown.textContent = count + " of " + rows.length + " questions";
}

function value(row, column) {
  const cell = row.cells[column];
  return cell.dataset.value === undefined ? cell.textContent.toLowerCase() : Number(cell.dataset.value);
}

function sort(heading) {
  const descending = heading.getAttribute("aria-sort") === "ascending";
  for (const other of heading.parentNode.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const column = heading.cellIndex;
  const keyed = rows.map((row, place) => [value(row, column), place, row]);
  keyed.sort((a, b) => {
    const order = a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0;
    return (descending ? -order : order) || a[1] - b[1];
  });
  body.append(...keyed.map((one) => one[2]));
}

for (const heading of table.tHead.rows[0].cells) heading.addEventListener("click", () => sort(heading));
search.addEventListener("input", filter);
outcome.addEventListener("change", filter);
reason.addEventListener("change", filter);
