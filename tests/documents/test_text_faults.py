"""Which texts look as if they were not extracted well, and which only look unusual."""

from __future__ import annotations

import pytest

from quoth.documents.text_faults import text_faults
from quoth.types import ProblemKind

_PLAIN = (
    "Sow canola at 2.5 cm into moist soil, and roll the field after seeding. Scout for flea beetles twice a week "
    "until the plants have four true leaves. The threshold is a quarter of the leaf area lost to feeding. "
)
BAD = {
    ProblemKind.ODD_CHARACTERS: (
        "Sow \ue012\ue013 at \ufffd\ufffd cm into \ue014 soil. ",
        "The farmer\u00e2\u20ac\u2122s field is at 5 \u00c2\u00b0C near the caf\u00c3\u00a9. ",
        "(cid:12)(cid:44) the soil (cid:3)(cid:9). ",
    ),
    ProblemKind.GLUED_WORDS: (
        "Thesoilshouldbemoistandfirm beforeseedingbeginsinearlyspring, orthecropwillnotemergeevenly. ",
        "SowThe seedInto moistSoil andRoll theField afterSeeding everySpring. ",
    ),
    ProblemKind.SPACED_LETTERS: ("S o w t h e s e e d i n t o m o i s t s o i l. ",),
}
GOOD = {
    "prose": _PLAIN,
    "compounds": "Die Bundesausbildungsförderungsverordnung gilt. " + _PLAIN,
    "chemistry": "Hexamethylenetetraminemonohydrate was added to dimethylaminopropionitrilesulfate. " + _PLAIN,
    "without spaces": "播种深度为二点五厘米。播种后应镇压田地。" * 20,
    "bullets": "\uf0b7 Scout the field every week, and write down what you find there.\n" * 8,
    "names": "McDonald and DeVries compared iPhone and JavaScript users. " + _PLAIN,
    "formulas": "Let x and y be in A, and f a map from A to B. " + _PLAIN,
    "accents": "Â la carte, Ãbo, naïve café, Größe, forêt. " + _PLAIN,
    "nothing": "",
}


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in BAD.items() for text in texts])
def test_a_page_that_was_not_extracted_well_is_noticed(kind: ProblemKind, text: str) -> None:
    assert text_faults(text * 8, text * 8) == (kind,)


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_page_in_good_order_passes(text: str) -> None:
    assert text_faults(text * 4, text * 4) == ()


def test_tables_and_code_may_hold_what_prose_may_not() -> None:
    table = "a | b | c | d | e | f\n" * 30

    assert text_faults(table + _PLAIN, _PLAIN) == ()
