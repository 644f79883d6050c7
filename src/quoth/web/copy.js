// "Copy citation": a disclosure with one button for each form.

import { titleFor } from "./catalog.js";
import { FORMS } from "./citation.js";
import { button, byId, el, toast } from "./dom.js";
import { inWords } from "./problem.js";
import { t } from "./words.js";

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

// `receipt()` gives the receipt of the answer that the quote is part of; null where there is no answer.
export function copyMenu(quote, receipt = null) {
  const menu = el("details", { class: "copy" });
  const forms = receipt ? [...FORMS, { name: t("Receipt"), of: receipt }] : FORMS;
  const choices = forms.map((form) =>
    button(form.name, async () => {
      menu.open = false;
      menu.querySelector("summary").focus();
      try {
        await toClipboard(await form.of(quote, await titleFor(quote.doc_id)), t("Citation copied: {form}", { form: form.name }));
      } catch (error) {
        if (error.status === undefined) throw error;
        toast(inWords(error));
      }
    }),
  );
  const group = el("div", { class: "choices", role: "group", "aria-label": t("Copy as") }, choices);
  menu.append(el("summary", {}, t("Copy citation")), group);
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
