// The list of documents, and their removal.

import { call, documentPath, finished } from "./api.js";
import { documentsPage } from "./catalog.js";
import { confirmed } from "./dialogs.js";
import { button, el, fill, foreign, say, toast, worded } from "./dom.js";
import { inWords, problemBox, sentence } from "./problem.js";
import { badge } from "./quote.js";
import { counted, t } from "./words.js";

const PAGE = 100;

// `may`: whether documents may be removed. `removed(docId)` is called after one was; `askIn(docId)` asks within one.
export async function drawLibrary(node, { may, removed, askIn }) {
  try {
    const first = await documentsPage({ after: null, limit: PAGE });
    const list = el("ul", { class: "documents" }, rows(first.documents, { may, removed, askIn }));
    const total = counted(first.total, "{count} document", "{count} documents");
    const count = el("p", { class: "fine", tabindex: "-1", id: "library-count" }, total);
    const more = el("div");
    offerMore(more, first.next, list, { may, removed, askIn });
    fill(node, el("h2", {}, t("In the index")), count, list, more);
  } catch (error) {
    fill(node, problemBox(error, () => drawLibrary(node, { may, removed, askIn })));
  }
}

function offerMore(place, next, list, options) {
  if (next === null) return fill(place);
  fill(
    place,
    button(t("More documents"), async () => {
      try {
        const page = await documentsPage({ after: next, limit: PAGE });
        const fresh = rows(page.documents, options);
        list.append(...fresh);
        offerMore(place, page.next, list, options);
        fresh[0]?.querySelector("button")?.focus();
      } catch (error) {
        toast(inWords(error));
      }
    }),
  );
}

function rows(documents, options) {
  return documents.map((one) => row(one, options));
}

function row(one, { may, removed, askIn }) {
  const title = one.title ?? one.doc_id;
  const status = el("p", { class: "fine", role: "status" });
  const remove = may ? button(t("Remove"), () => removeIt(), { class: "quiet", "aria-label": t("Remove {title}", { title }) }) : null;
  const ask = button(t("Ask here"), () => askIn(one.doc_id), { class: "quiet", "aria-label": t("Ask within {title}", { title }) });
  const replaced = one.superseded_by.length ? el("span", { class: "badge old" }, t("superseded in part or whole")) : null;
  const facts = [
    one.document_type ? worded(one.document_type) : null,
    one.format,
    one.pages ? counted(one.pages, "{count} page", "{count} pages") : null,
    counted(one.sentences, "{count} sentence", "{count} sentences"),
    one.effective_date ? t("in effect {day}", { day: one.effective_date }) : null,
  ].filter(Boolean);

  async function removeIt() {
    const sure = await confirmed({
      title: t("Remove this document?"),
      name: title,
      text:
        " " +
        t(
          "leaves the index, with what was uploaded of it. Answers can no longer quote it. If it came from a folder rather than an upload, its file stays there, and the next ingest of that folder brings it back.",
        ),
      yes: t("Remove"),
    });
    if (!sure) return remove.focus();
    remove.disabled = true;
    status.textContent = t("Removing …");
    try {
      const { notes } = await finished(await call("DELETE", documentPath(one.doc_id)), (now) => {
        status.textContent = now.state === "queued" ? t("Waiting for its turn …") : t("Removing …");
      });
      toast([t("Removed: {title}", { title }), ...notes.map(sentence)].join(". "));
      await removed(one.doc_id);
      document.getElementById("library-count")?.focus();
    } catch (error) {
      remove.disabled = false;
      status.textContent = inWords(error);
      say(inWords(error));
    }
  }

  return el(
    "li",
    {},
    el(
      "div",
      { class: "document" },
      el("p", { class: "source" }, el("strong", {}, foreign(title)), badge(one.is_binding ? "binding" : null), replaced),
      el("p", { class: "where" }, foreign(facts.join(" · ")), el("span", { class: "place" }, foreign(one.doc_id))),
      status,
    ),
    el("div", { class: "buttons" }, ask, remove),
  );
}
