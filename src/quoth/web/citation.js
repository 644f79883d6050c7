// A citation in the forms that people paste. The words are those of the document, unchanged.

import { address, NO_FILTERS, placeOf } from "./state.js";
import { t } from "./words.js";

const LONG = 120;
const EDGE_WORDS = 5;

// A text fragment has its own separators, which encodeURIComponent leaves alone.
function fragmentPart(text) {
  return encodeURIComponent(text).replaceAll("-", "%2D");
}

export function textFragment(text) {
  const words = text.split(/\s+/u).filter(Boolean);
  const plain = words.join(" ");
  if (plain.length <= LONG || words.length < 2 * EDGE_WORDS) return `#:~:text=${fragmentPart(plain.slice(0, LONG))}`;
  const first = words.slice(0, EDGE_WORDS).join(" ");
  const last = words.slice(-EDGE_WORDS).join(" ");
  return `#:~:text=${fragmentPart(first)},${fragmentPart(last)}`;
}

export function linkTo(quote) {
  const path = address({ ...NO_FILTERS, view: "ask", question: "", place: placeOf(quote) });
  return `${window.location.origin}${path}${textFragment(quote.text)}`;
}

function where(quote, title) {
  const parts = [title, quote.section.join(" › "), quote.page ? t("page {page}", { page: quote.page }) : ""];
  return parts.filter(Boolean).join(", ");
}

function plainText(quote, title) {
  return `“${quote.text}”\n— ${where(quote, title)} (${quote.doc_id}[${quote.start}:${quote.end}])`;
}

function escaped(text) {
  return text.replace(/[\\[\]<>*_`]/g, "\\$&");
}

function markdown(quote, title) {
  // Only "<" is escaped in the quote: markup in a document must not become markup of a web page.
  const lines = quote.text.replaceAll("<", "\\<").split(/\r\n|\r|\n/);
  const source = `[${escaped(where(quote, title))}](${linkTo(quote).replaceAll("(", "%28").replaceAll(")", "%29")})`;
  return [...lines, "", `— ${source}`].map((line) => `> ${line}`.trimEnd()).join("\n");
}

export const FORMS = [
  { name: t("Text"), of: plainText },
  { name: "Markdown", of: markdown },
  { name: t("Link"), of: linkTo },
];
