// "Copy citation": a disclosure with one button for each form.

import { titleFor } from "./catalog.js";
import { FORMS } from "./citation.js";
import { button, byId, el, toast } from "./dom.js";

async function toClipboard(text, done) {
  try {
    await navigator.clipboard.writeText(text);
    toast(done);
  } catch {
    // No permission, or no clipboard on a plain http address: show the text, selected.
    const box = byId("copy-text");
    box.value = text;
    byId("copy-dialog").showModal();
    box.select();
  }
}

export function copyMenu(quote) {
  const menu = el("details", { class: "copy" });
  const choices = FORMS.map((form) =>
    button(form.name, async () => {
      menu.open = false;
      menu.querySelector("summary").focus();
      await toClipboard(form.of(quote, await titleFor(quote.doc_id)), `Citation copied: ${form.name}`);
    }),
  );
  const group = el("div", { class: "choices", role: "group", "aria-label": "Copy as" }, choices);
  menu.append(el("summary", {}, "Copy citation"), group);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !menu.open) return;
    event.stopPropagation();
    event.preventDefault();
    menu.open = false;
    menu.querySelector("summary").focus();
  });
  menu.addEventListener("focusout", (event) => {
    if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
  });
  return menu;
}
