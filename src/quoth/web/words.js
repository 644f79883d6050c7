// What the page says, in the language that it was sent in. The catalogues are those of the terminal, too: they hold
// what each English message is in another language.

const ENGLISH = { one: [1], decimal: ".", group: "," };

export const language = document.documentElement.lang;
const { language: writing, messages: texts } = await loaded();
// A Map, since messages may be names of a document, such as "constructor".
const messages = new Map(Object.entries(texts));

// Without its catalogue the page speaks English.
async function loaded() {
  if (language === "en") return { language: ENGLISH, messages: {} };
  try {
    const reply = await fetch(`/web/messages/${language}.json`);
    if (reply.ok) return await reply.json();
  } catch {
    // See above.
  }
  return { language: ENGLISH, messages: {} };
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (field, name) => values[name] ?? field);
}

// The message with these values in its fields.
export function t(message, values = {}) {
  const text = messages.get(message) ?? message;
  return filled(text.other ?? text, values);
}

// The same, as text and nodes: each field holds a node, or words.
export function tNodes(message, nodes) {
  return t(message)
    .split(/\{(\w+)\}/)
    .flatMap((part, number) => (number % 2 ? nodes[part] : part));
}

// The message for a number, which its field {count} shows.
export function counted(number, one, many, values = {}) {
  const forms = messages.get(many) ?? { one, other: many };
  return filled(writing.one.includes(number) ? forms.one : forms.other, { count: whole(number), ...values });
}

export function whole(number) {
  return number.toLocaleString("en").replaceAll(",", writing.group);
}

export function fixed(number, digits = 2) {
  return number.toFixed(digits).replace(".", writing.decimal);
}
