// Pages as pictures, with boxes over the quote. They are fetched with the key, so they become blobs.

import { call, documentPath } from "./api.js";
import { el, fill, foreign } from "./dom.js";
import { problemBox } from "./problem.js";
import { shaOf } from "./state.js";
import { t, tNodes } from "./words.js";

const WIDTH = 1200;

function percent(part, whole) {
  return `${(100 * part) / whole}%`;
}

function boxOver(box, page) {
  const node = el("span", { class: "box", "aria-hidden": "true" });
  node.style.left = percent(box.left, page.width);
  node.style.top = percent(box.top, page.height);
  node.style.width = percent(box.right - box.left, page.width);
  node.style.height = percent(box.bottom - box.top, page.height);
  return node;
}

// `release` gives the memory of the pictures back, and stops those under way. `changed` is called when the document was
// replaced meanwhile: boxes of the old one must not lie over a page of the new one.
export function pageImages(span, { changed }) {
  const urls = [];
  const under = new AbortController();

  async function draw(figure, page) {
    fill(figure, el("p", { class: "loading" }, t("Drawing page {page} …", { page: page.number })));
    try {
      const path = documentPath(span.doc_id, `/pages/${page.number}`);
      const query = { width: WIDTH, sha256: shaOf(span) };
      const picture = await call("GET", path, { query, signal: under.signal, as: "blob" });
      if (under.signal.aborted) return;
      urls.push(URL.createObjectURL(picture));
      const about = { page: page.number, title: span.title ?? span.doc_id };
      const alt = t("Page {page} of {title}, with the quote outlined", about);
      const image = el("img", { src: urls.at(-1), alt });
      const sheet = el("div", { class: "sheet" }, image, page.boxes.map((box) => boxOver(box, page)));
      const inCaption = { page: String(page.number), quote: foreign(span.quote) };
      const caption = el("figcaption", { class: "fine" }, tNodes("Page {page}. The quote: “{quote}”", inCaption));
      fill(figure, sheet, caption);
      await image.decode();
      sheet.querySelector(".box")?.scrollIntoView({ block: "center" });
    } catch (error) {
      if (error.name === "AbortError" || under.signal.aborted) return;
      if (error.code === "document-changed") return changed();
      if (error.status === undefined) return fill(figure, el("p", {}, t("The picture of the page cannot be shown.")));
      fill(figure, problemBox(error, () => draw(figure, page)));
    }
  }

  const figures = span.pages.map((page) => {
    const figure = el("figure", { class: "page-picture" });
    draw(figure, page);
    return figure;
  });
  return {
    node: el("div", { class: "pages" }, figures),
    release: () => {
      under.abort();
      urls.forEach((url) => URL.revokeObjectURL(url));
    },
  };
}
