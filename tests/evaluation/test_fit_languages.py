"""Fitting to questions in another language than English: the fit is for that language, and takes the mark away."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from quoth.evaluation.fit_evidence import fit_evidence, weights_json
from quoth.evaluation.labelled_questions import Gold, LabelledQuestion, asked_language
from quoth.library import Quoth
from quoth.overrides import Overrides
from quoth.types import NO_FILTERS, Question, Span
from quoth.wiring import open_store

SETTINGS = {"embedding.model_name": "hash", "rerank.kind": "late"}
PLACES = (
    "Hafen Bahnhof Marktplatz Rathaus Krankenhaus Museum Theater Schwimmbad Friedhof Flughafen Stadion Kloster".split()
)
THINGS = "Brunnen Denkmal Garten Turm".split()


def labelled(text: str) -> list[LabelledQuestion]:
    found = []
    for number, (place, thing) in enumerate((place, thing) for place in PLACES for thing in THINGS[:3]):
        sentence = f"Der {thing} am {place} wurde nach dem Krieg wieder aufgebaut."
        asked = Question(str(number), f"Wann wurde der {thing} am {place} wieder aufgebaut?", NO_FILTERS)
        start = text.find(sentence)
        gold = (Gold("stadt.md", Span(start, start + len(sentence)), sentence, ()),) if start >= 0 else ()
        found.append(LabelledQuestion(asked, bool(gold), gold, "any"))
    return found


def test_a_fit_to_german_questions_is_for_german(tmp_path: Path) -> None:
    sentences = [
        f"Der {thing} am {place} wurde nach dem Krieg wieder aufgebaut." for place in PLACES[:8] for thing in THINGS[:3]
    ]
    text = "# Die Stadt\n\n" + "\n\n".join(sentences) + "\n"
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "stadt.md").write_text(text, encoding="utf-8")
    quoth = Quoth.build(tmp_path / "docs", index=tmp_path / "index", settings=SETTINGS)
    items = labelled(text)
    assert quoth.ask(items[0].question).notes.degraded[-1] == "reader"
    assert asked_language(items, quoth) == "de"

    store = open_store(tmp_path / "index", quoth.settings().store)
    fit = fit_evidence(items, store=store, overrides=Overrides({}, {}, dict(SETTINGS)), progress=None)
    assert fit.made_for["language"] == "de"

    fields = {"sentence": weights_json(fit.sentence), "answer": weights_json(fit.answer), "made_for": fit.made_for}
    given = {f"evidence.{name}": dict(value) for name, value in fields.items()}
    fitted = Quoth.open(tmp_path / "index", settings={**SETTINGS, **given})
    assert "reader" not in fitted.ask(items[0].question).notes.degraded
    made_for = fitted.circumstances("de")
    assert made_for["language"] == "de"
    assert "fitted" in made_for["confidence"]
    english = replace(items[0].question, text="When was the tower near the port built again?")
    assert fitted.ask(english).notes.degraded[-1] == "reader"
