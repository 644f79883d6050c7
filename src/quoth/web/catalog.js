// What the index holds: its facets, and what is known about its documents.

import { call, documentPath } from "./api.js";
import { worded } from "./dom.js";
import { language } from "./words.js";

const MOST = 1000;

let facets = null;
let listing = null;
const known = new Map();

// A service without an index yet holds nothing; its first upload makes one.
const NOTHING = {
  profile: null,
  authority: false,
  documents: 0,
  sentences: 0,
  document_types: [],
  tags: {},
  uploads: true,
};

let loading = null;

export function loadFacets() {
  loading = newFacets();
  return loading;
}

async function newFacets() {
  try {
    facets = await call("GET", "/facets", { query: language === "en" ? null : { lang: language } });
  } catch (error) {
    if (error.code !== "no-index") throw error;
    facets = NOTHING;
  }
  return facets;
}

export function facetsNow() {
  return facets;
}

// Waits for the names of the tags, which are in `facets`; without these, they stay in English.
export async function namesKnown() {
  if (language !== "en") await loading?.catch(() => {});
}

// What people call a tag, or one of its values, in the language of the page.
export function nameOf(name) {
  const names = facets?.names ?? {};
  return Object.hasOwn(names, name) ? names[name] : null;
}

export function facetName(facet) {
  return nameOf(facet) ?? worded(facet);
}

// The first documents; a large corpus is searched with `found`.
export async function loadDocuments() {
  listing ??= call("GET", "/documents", { query: { limit: MOST } }).then(remembered);
  try {
    return await listing;
  } catch (error) {
    listing = null;
    throw error;
  }
}

export async function documentsPage({ after, limit }) {
  const query = after === null ? { limit } : { after, limit };
  return remembered(await call("GET", "/documents", { query }));
}

function remembered(page) {
  for (const one of page.documents) known.set(one.doc_id, Promise.resolve(one));
  return page;
}

// Documents by a part of their title or id. Beyond the first ones the service finds them by how their id begins.
export async function found(words) {
  const page = await loadDocuments();
  const wanted = words.trim().toLowerCase();
  const near = page.documents.filter((one) => `${one.title ?? ""}\n${one.doc_id}`.toLowerCase().includes(wanted));
  if (page.next === null || !wanted) return { documents: near, whole: page.next === null };
  const far = remembered(await call("GET", "/documents", { query: { prefix: words.trim(), limit: 50 } }));
  const here = new Set(near.map((one) => one.doc_id));
  return { documents: [...near, ...far.documents.filter((one) => !here.has(one.doc_id))], whole: false };
}

export function about(docId) {
  if (!known.has(docId)) {
    const asked = call("GET", documentPath(docId));
    known.set(docId, asked);
    asked.catch(() => known.delete(docId));
  }
  return known.get(docId);
}

// The title of a document, or its id where it has none or is gone.
export async function titleFor(docId) {
  try {
    return (await about(docId)).title ?? docId;
  } catch {
    return docId;
  }
}

// The title as soon as it is known; the id until then.
export async function titled(node, docId) {
  node.textContent = docId;
  node.textContent = await titleFor(docId);
}

export function forgetDocuments() {
  listing = null;
  known.clear();
}
