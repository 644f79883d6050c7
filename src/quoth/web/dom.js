// Elements are made here and nowhere else. Text only ever becomes a text node: a document may hold any markup.

import { t } from "./words.js";

export function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else {
      node.setAttribute(name, value === true ? "" : value);
    }
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

export function button(text, onClick, attributes = {}) {
  return el("button", { type: "button", on: { click: onClick }, ...attributes }, text);
}

// Text of a document, a title or a name: it cannot change the direction of what stands around it.
export function foreign(text, attributes = {}) {
  return el("bdi", { class: "foreign", dir: "auto", ...attributes }, text);
}

export function byId(id) {
  return document.getElementById(id);
}

export function fill(node, ...children) {
  node.replaceChildren(...children.flat().filter(Boolean));
}

// Screen readers read a change; the same words twice are no change, so they get an invisible difference.
export function say(text) {
  const status = byId("status");
  status.textContent = status.textContent === text ? `${text}\u00a0` : text;
}

let toastTimer = 0;

export function toast(text) {
  const box = byId("toast");
  box.textContent = text;
  box.hidden = false;
  say(text);
  clearTimeout(toastTimer);
  toastTimer = setTimeout(() => {
    box.hidden = true;
  }, 3000);
}

export function bullets(texts) {
  return el("ul", {}, texts.map((text) => el("li", {}, foreign(text))));
}

// "rules_regulations" is a name for programs; a language may have words for it.
export function worded(name) {
  return t(name.replaceAll("_", " "));
}
