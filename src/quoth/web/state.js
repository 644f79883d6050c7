// The address of the page is its state: the question, the one it leans on (`after`), the filters, the view and the place
// open in the reader.

function whole(text) {
  return text !== null && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

function placeIn(query) {
  const doc = query.get("doc");
  const start = whole(query.get("start"));
  const end = whole(query.get("end"));
  const sha = query.get("sha") || null;
  return doc && start !== null && end !== null && start < end ? { doc, start, end, sha } : null;
}

const VIEWS = ["grid", "documents", "receipts"];
const SHA_DIGITS = 16;

// Which text of a document is meant: a place in one that was replaced must not be taken for a place in the new one.
export function shaOf(quote) {
  return quote.doc_sha256?.slice(0, SHA_DIGITS) ?? null;
}

export function placeOf(quote) {
  return { doc: quote.doc_id, start: quote.start, end: quote.end, sha: shaOf(quote) };
}

export function fromAddress(search) {
  const query = new URLSearchParams(search);
  return {
    view: VIEWS.includes(query.get("view")) ? query.get("view") : "ask",
    grid: query.get("grid") || null,
    question: (query.get("q") ?? "").trim(),
    after: (query.get("after") ?? "").trim(),
    types: query.getAll("type"),
    tags: query.getAll("tag").filter((tag) => tag.includes(":")),
    docs: query.getAll("in"),
    asOf: query.get("as_of") ?? "",
    regions: query.getAll("regions"),
    place: placeIn(query),
  };
}

export function address(state) {
  const query = new URLSearchParams();
  if (state.view !== "ask") query.set("view", state.view);
  if (state.view === "grid" && state.grid) query.set("grid", state.grid);
  if (state.question) query.set("q", state.question);
  if (state.question && state.after) query.set("after", state.after);
  for (const type of state.types) query.append("type", type);
  for (const tag of state.tags) query.append("tag", tag);
  for (const doc of state.docs) query.append("in", doc);
  if (state.asOf) query.set("as_of", state.asOf);
  for (const region of state.regions) query.append("regions", region);
  if (state.place) {
    query.set("doc", state.place.doc);
    query.set("start", state.place.start);
    query.set("end", state.place.end);
    if (state.place.sha) query.set("sha", state.place.sha);
  }
  const text = query.toString();
  return text ? `/?${text}` : "/";
}

export const NO_FILTERS = { types: [], tags: [], docs: [], asOf: "", regions: [] };

export function countFilters(state) {
  const { types, tags, docs, asOf, regions } = state;
  return types.length + tags.length + docs.length + regions.length + (asOf ? 1 : 0);
}

// The body that asks what this state asks.
export function asked(state) {
  const tags = {};
  for (const tag of state.tags) {
    const colon = tag.indexOf(":");
    (tags[tag.slice(0, colon)] ??= []).push(tag.slice(colon + 1));
  }
  const filters = {};
  if (state.types.length) filters.document_type = state.types;
  if (state.tags.length) filters.tags = tags;
  if (state.asOf) filters.as_of = state.asOf;
  if (state.regions.length) filters.regions = state.regions;
  const body = { question: state.question };
  if (state.after) body.previous = [state.after];
  if (state.docs.length) body.doc_scope = state.docs;
  if (Object.keys(filters).length) body.filters = filters;
  return body;
}
