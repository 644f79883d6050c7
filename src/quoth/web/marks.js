// "Was this right?": a reader's verdict becomes a labelled question of the service.

import { call } from "./api.js";
import { button, el, fill, foreign, say } from "./dom.js";
import { inWords } from "./problem.js";
import { t } from "./words.js";

function place({ doc_id, start, end }) {
  return { doc_id, start, end };
}

export function marks(outcome, body) {
  const box = el("section", { class: "marks", "aria-labelledby": "marks-title" });
  const asks = outcome.abstained ? t("Is it right that there is no answer?") : t("Is this answer right?");
  const title = el("h3", { id: "marks-title" }, asks);
  const said = el("p", { class: "fine", role: "status" });

  const ask = (focus = false) => {
    const right = button(outcome.abstained ? t("Right, it is not in the documents") : t("Right"), () => store("right", []));
    const wrong = button(outcome.abstained ? t("Wrong, it is there") : t("Wrong"), () => choose());
    fill(box, title, el("div", { class: "buttons" }, right, wrong), said);
    if (focus) wrong.focus();
  };

  const choose = () => {
    const shown = outcome.abstained ? outcome.nearest : outcome.answer_sentences;
    const options = shown.map((one) => {
      const input = el("input", { type: "checkbox" });
      return { one, input, row: el("label", { class: "choice" }, input, foreign(one.text)) };
    });
    const send = () => {
      const chosen = options.filter(({ input }) => input.checked);
      store("wrong", chosen.map(({ one }) => place(one)));
    };
    const how = outcome.abstained
      ? t("Choose the sentence that answers, if it is here.")
      : t("Choose the sentences that do answer. With none chosen, the question counts as one without an answer.");
    const list = el("div", { class: "options" }, options.map(({ row }) => row));
    const legend = el("legend", { tabindex: "-1" }, t("Which of these does answer?"));
    fill(
      box,
      title,
      el("fieldset", {}, legend, el("p", { class: "fine" }, how), list),
      el("div", { class: "buttons" }, button(t("Send"), send, { class: "main" }), button(t("Back"), () => ask(true))),
      said,
    );
    (options[0]?.input ?? legend).focus();
  };

  const store = async (verdict, gold) => {
    const { doc_scope, filters } = body;
    const question = outcome.understood ?? body.question; // a labelled question stands alone
    said.textContent = t("Sending …");
    try {
      const seen = { index: outcome.run_notes.index, quoted: outcome.answer_sentences.map(place) };
      const mark = { question, doc_scope, filters, verdict, gold: gold.length ? gold : undefined, ...seen };
      const reply = await call("POST", "/marks", { body: mark });
      const noted = verdict === "right" ? t("Thank you, noted as right.") : t("Thank you, noted as wrong.");
      const done = reply.stored ? noted : t("Thank you. It was not stored.");
      const words = el("p", { tabindex: "-1", class: "thanks" }, done, reply.note ? [" ", foreign(reply.note)] : null);
      fill(box, title, words);
      words.focus();
      say(done);
    } catch (error) {
      said.textContent = inWords(error);
    }
  };

  ask();
  return box;
}
