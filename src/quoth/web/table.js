// A table of quotes that can be filtered, sorted, and walked through with the arrow keys. The page that `quoth grid`
// writes holds a copy of this file, so it imports nothing.

const words = (input) => input.value.toLowerCase().split(/\s+/).filter(Boolean);
const holds = (node, sought) => sought.every((word) => node.textContent.toLowerCase().includes(word));
const opener = (cell) => cell.querySelector("a, button");

// The first column names the documents; a cell of the others has `data-kind` and `data-confidence` unless it is empty.
// Of `controls`, `find` and `questions` are inputs of words, `kind` is a select, `least` an input of percent, and `shown`
// is where to say how many rows are left, in the words of `told(left, rows)`.
export function setUpTable(table, controls) {
  const heads = Array.from(table.tHead.rows[0].cells);
  const rows = Array.from(table.tBodies[0].rows);
  const { find, questions, kind, least } = controls;
  for (const head of heads) head.addEventListener("click", () => sort(head, heads, rows));
  for (const control of [find, questions, kind, least]) {
    control.addEventListener("input", () => filter(heads, rows, controls));
  }
  table.tBodies[0].addEventListener("keydown", (event) => {
    const cell = event.target.closest("td");
    if (!cell || !event.key.startsWith("Arrow")) return;
    event.preventDefault();
    move(cell, event.key);
  });
  filter(heads, rows, controls);
}

function filter(heads, rows, { find, questions, kind, least, shown, told }) {
  const sought = words(find);
  const asked = words(questions);
  const narrowed = kind.value !== "" || Number(least.value) > 0;
  const fits = (cell) =>
    cell.dataset.kind !== undefined &&
    (!kind.value || cell.dataset.kind === kind.value) &&
    100 * Number(cell.dataset.confidence) >= Number(least.value);
  for (const head of heads.slice(1)) head.hidden = !holds(head, asked);
  for (const row of rows) {
    const cells = Array.from(row.cells).slice(1);
    for (const cell of cells) {
      cell.hidden = heads[cell.cellIndex].hidden;
      cell.classList.toggle("out", narrowed && !fits(cell));
    }
    row.hidden = !holds(row, sought) || (narrowed && !cells.some((cell) => !cell.hidden && fits(cell)));
  }
  shown.textContent = told(rows.filter((row) => !row.hidden).length, rows.length);
}

function rank(cell) {
  if (cell.cellIndex === 0) return cell.textContent.toLowerCase();
  // What is stated comes before what is not, however near that was.
  const { kind, confidence } = cell.dataset;
  return kind === undefined ? -2 : Number(confidence) - (kind === "stated" ? 0 : 1);
}

function sort(head, heads, rows) {
  const column = head.cellIndex;
  const before = head.getAttribute("aria-sort");
  // Names begin with A, confidences with the highest.
  const descending = before ? before === "ascending" : column > 0;
  for (const other of heads) other.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const sign = descending ? -1 : 1;
  const ranked = rows.map((row) => [rank(row.cells[column]), row]);
  ranked.sort(([a], [b]) => sign * (a < b ? -1 : Number(a > b)));
  rows[0].parentNode.append(...ranked.map(([, row]) => row));
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
  } while (there && (there.hidden || row.hidden || there.classList.contains("out") || !opener(there)));
  if (there) opener(there).focus();
}
