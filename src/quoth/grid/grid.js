// The page holds web/table.js before this, in the same module.

const table = document.getElementById("table");
const details = JSON.parse(document.getElementById("details").textContent);
const dialog = document.getElementById("dialog");

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
  document.getElementById("asked").textContent = table.tHead.rows[0].cells[cell.cellIndex].textContent;
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

table.tBodies[0].addEventListener("click", (event) => {
  const cell = event.target.closest("td");
  if (cell && cell.querySelector("button") && !cell.classList.contains("out")) open(cell);
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
const controls = ["find", "questions", "kind", "least", "shown"];
const told = (left, rows) => `${left} of ${rows} documents`;
setUpTable(table, { told, ...Object.fromEntries(controls.map((id) => [id, document.getElementById(id)])) });
