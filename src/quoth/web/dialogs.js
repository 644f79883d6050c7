// The two questions that stop everything else: "which key?" and "really?".

import { key } from "./api.js";
import { byId, fill, foreign, toast } from "./dom.js";
import { t } from "./words.js";

export function setUpKeyDialog() {
  const forget = byId("forget-key");
  forget.hidden = !key.held();
  forget.addEventListener("click", () => {
    key.forget();
    forget.hidden = true;
    toast(t("The key is forgotten."));
    byId("question").focus();
  });
}

// Shows the dialog and tells whether a key was given. The next call finds out whether it is a good one.
export function askForKey(problem) {
  const dialog = byId("key-dialog");
  const input = byId("key-input");
  const refused = key.held() !== null;
  byId("key-why").textContent = refused
    ? t("The service does not accept the key that was given. Enter another one.")
    : t("Whoever runs this service can give you one.");
  byId("key-why").title = problem.message;
  key.forget();
  byId("forget-key").hidden = true;
  input.value = "";
  return new Promise((resolve) => {
    const done = (given) => {
      listening.abort();
      dialog.close();
      input.value = "";
      resolve(given);
    };
    const listening = new AbortController();
    const { signal } = listening;
    byId("key-form").addEventListener(
      "submit",
      (event) => {
        event.preventDefault();
        if (!input.value.trim()) return;
        key.hold(input.value.trim());
        byId("forget-key").hidden = false;
        done(true);
      },
      { signal },
    );
    byId("key-cancel").addEventListener("click", () => done(false), { signal });
    dialog.addEventListener(
      "cancel",
      (event) => {
        event.preventDefault();
        done(false);
      },
      { signal },
    );
    dialog.showModal();
    input.focus();
  });
}

export function confirmed({ title, name, text, yes }) {
  const dialog = byId("confirm-dialog");
  byId("confirm-title").textContent = title;
  fill(byId("confirm-text"), foreign(name), text);
  byId("confirm-yes").textContent = yes;
  dialog.returnValue = "no";
  dialog.showModal();
  byId("confirm-no").focus();
  return new Promise((resolve) => {
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true });
  });
}
