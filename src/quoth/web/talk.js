// What the talk is about: a question that is asked next may lean on the last one, until that is removed here.

import { button, byId, el, fill, foreign, say } from "./dom.js";
import { t } from "./words.js";

let about = "";

export function talkAbout(question) {
  about = question;
  const forget = button("×", () => {
    talkAbout("");
    byId("question").focus();
    say(t("The next question stands alone."));
  });
  forget.setAttribute("aria-label", t("Forget the last question: the next one stands alone"));
  const shown = el("p", { class: "talk" }, el("span", { class: "facet" }, `${t("follow-up to")} `), foreign(about), forget);
  fill(byId("talk"), about ? shown : null);
}

export function talkedAbout() {
  return about;
}
