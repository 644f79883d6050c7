"""Companions: what a quote must not leave out, shown on sentences from many fields."""

from __future__ import annotations

import pytest

from quoth.answer.companions import companions_of
from quoth.types import Quote, RegionKind, Sentence, Span

MARK = ">> "
ITEM = "* "


def page(*lines: str) -> tuple[list[Sentence], Sentence]:
    """Sentences in reading order and the one that is quoted (`>> `); `* ` marks an item of a list, led by its line."""
    sentences: list[Sentence] = []
    quoted: Sentence | None = None
    lead: Quote | None = None
    for place, line in enumerate(lines):
        plain = line.removeprefix(MARK)
        item = plain.startswith(ITEM)
        text = plain.removeprefix(ITEM)
        quote = Quote(Span(1_000 * place, 1_000 * place + len(text)), text)
        kind = RegionKind.LIST_ITEM if item else RegionKind.PARAGRAPH
        one = Sentence("a.md", quote, kind, (), lead=lead if item else None, page=None, ocr=None, tags={})
        lead = lead if item else quote
        sentences.append(one)
        quoted = one if line.startswith(MARK) else quoted
    assert quoted is not None
    return sentences, quoted


def companions(*lines: str) -> tuple[list[str], list[str]]:
    sentences, quoted = page(*lines)

    def neighbours(one: Sentence) -> tuple[Sentence | None, Sentence | None]:
        place = sentences.index(one)
        return (
            sentences[place - 1] if place else None,
            sentences[place + 1] if place + 1 < len(sentences) else None,
        )

    taken_back, looked_back_to = companions_of(quoted, neighbours)
    return [one.text for one in taken_back], [one.text for one in looked_back_to]


TAKEN_BACK = {
    "covenant": (">> Sheds need no permit.", "However, a shed over 10 m² does."),
    "lease": (">> Rent is due on the first.", "Unless the first is a Sunday, in which case Monday counts."),
    "licence": (">> You may copy the files.", "Provided that the notice is kept, copies may be sold."),
    "contract": (">> The Supplier bears the cost.", "Notwithstanding the foregoing, the Buyer pays for freight."),
    "medicine": (">> Adults take two tablets.", "Except in liver disease, where one is the limit."),
    "aviation": (">> Cruise at 90 knots.", "In gusts, however, stay below 80."),
    "cooking": (">> Bake at 180 °C.", "That said, a convection oven needs 160."),
    "library": (">> Books are lent for four weeks.", "The only exception is the reading room."),
    "tax": (">> The allowance is 500 euros.", "This limit does not apply to couples."),
    "pool": (">> Children may swim alone.", "But not before the age of ten."),
    "exam": (">> Calculators are allowed.", "Exceptions: papers 2 and 4."),
    "harvest": (">> Combine at 14% moisture.", "Even so, seed lots must be drier."),
    "school": (">> Pupils leave at noon.", "Only if a parent has signed, of course."),
    "building": (">> Walls are 20 cm thick.", "The foregoing shall not apply to partitions."),
    "warranty": (">> Repairs are free.", "In no event does this cover batteries."),
    "irrigation": (">> Water twice a week.", "On sand, on the other hand, water daily."),
}


@pytest.mark.parametrize("field", TAKEN_BACK)
def test_what_takes_a_sentence_back_comes_with_it(field: str) -> None:
    main, exception = TAKEN_BACK[field]

    assert companions(main, exception) == ([exception], [])


NOT_TAKEN_BACK = {
    "however deep": (">> Probe the soil.", "However deep the frost, the probe reads it."),
    "but for": (">> The dam held.", "But for the gates, it is all of earth."),
    "yet another": (">> Moths lay eggs here.", "Yet another pest is the weevil."),
    "otherwise healthy": (">> Prune in March.", "Otherwise healthy trees can be left."),
    "exceptional": (">> Yields were good.", "Exceptional yields came from the north."),
    "provided by": (">> Tools are at hand.", "Provided by the club, they are free."),
    "only": (">> Feed the hens.", "Only two hens were lost."),
    "a further rule": (">> Fences are 2 m high.", "Hedges are 3 m high."),
    "however at the end": (">> Roll the field.", "Harrow it first, however."),
    "a clause about the whole": (">> Each side bears its costs.", "Nothing in this Agreement makes a partnership."),
    "an only child": (">> He sold the farm.", "An only child, he had no heirs."),
}


@pytest.mark.parametrize("case", NOT_TAKEN_BACK)
def test_a_sentence_that_only_goes_on_stays_behind(case: str) -> None:
    assert companions(*NOT_TAKEN_BACK[case])[0] == []


REFERRED_TO = {
    "it": ("The pump runs at night.", ">> It must be off by six."),
    "they": ("Bees need water.", ">> They find it in saucers."),
    "its": ("The oak is protected.", ">> Its roots may not be cut."),
    "their": ("Tenants share the yard.", ">> Their bicycles stand there."),
    "this and a noun": ("Fences may be 2 m high.", ">> This height is measured from the lower side."),
    "these and a noun": ("Two sprays are registered.", ">> These products wash off within a day."),
    "such": ("Cellars flood in May.", ">> Such damage is not insured."),
    "the latter": ("There are pumps and siphons.", ">> The latter need no power."),
    "both": ("Rust and scab occur.", ">> Both are spread by wind."),
    "in that case": ("The valve may stick.", ">> In that case call the plumber."),
    "otherwise": ("Register by June.", ">> Otherwise the fee doubles."),
    "if not": ("Check that the seal holds.", ">> If not, replace it."),
    "doing so": ("Open the hatch slowly.", ">> Doing so lets the steam out."),
    "the same": ("Dogs must be on a lead.", ">> The same applies to goats."),
    "that": ("The bridge was closed in 1998.", ">> That cut the village off."),
    "a yes": ("May I park in the lane?", ">> Yes, after six."),
    "a bare no": ("Is the well deep?", ">> No."),
    "applied to": ("Lime raises the pH.", ">> It is applied to bare soil."),
}


@pytest.mark.parametrize("case", REFERRED_TO)
def test_what_a_sentence_refers_to_comes_with_it(case: str) -> None:
    before, main = REFERRED_TO[case]

    assert companions(before, main) == ([], [before])


SELF_CONTAINED = {
    "a numbered thing": "No. 5 wire is used.",
    "a no to nothing": "No, the gate stays open.",
    "important to": "It is important to wash the tank.",
    "recommended that": "It is strongly recommended that the hose be drained.",
    "not advisable": "It is not advisable to fly in hail.",
    "should be noted": "It should be noted that prices vary.",
    "takes": "It takes three days to dry.",
    "seems": "It seems that the well is dry.",
    "that said": "That said, the roof is sound.",
    "this agreement": "This Agreement ends in May.",
    "this first amendment": "This First Amendment takes effect on 1 April.",
    "this guide": "This guide covers small orchards.",
    "this year": "This year the dues are 40 euros.",
    "those who": "Those who resign get no refund.",
    "both and": "Both the owner and the tenant must sign.",
    "such as": "Such as it is, the lift works.",
    "a name": "Itasca is a lake.",
    "the same and a noun": "The same ferry serves both islands.",
    "an exception of its own": "Except on Sundays, the mill is open.",
    "a form": "Its: ____",
    "that is to say": "That is to say, nobody came.",
}


@pytest.mark.parametrize("case", SELF_CONTAINED)
def test_a_sentence_that_says_what_it_is_about_stands_alone(case: str) -> None:
    assert companions("Something else was said.", f"{MARK}{SELF_CONTAINED[case]}") == ([], [])


def test_an_antecedent_that_refers_back_itself_brings_its_own() -> None:
    found = companions("Ladybirds eat aphids.", "They arrive in May.", ">> This is too late for beans.")

    assert found == ([], ["They arrive in May.", "Ladybirds eat aphids."])


def test_a_chain_of_references_is_followed_for_two_steps() -> None:
    found = companions("Ants farm aphids.", "They guard them.", "This costs them little.", ">> It pays in honeydew.")

    assert found == ([], ["This costs them little.", "They guard them."])


def test_an_exception_to_the_exception_comes_too() -> None:
    found = companions(
        ">> Parking is free.", "Except on market days.", "However, residents never pay.", "Signs say so."
    )

    assert found == (["Except on market days.", "However, residents never pay."], [])


def test_an_exception_two_sentences_on_that_names_the_rule_comes_too() -> None:
    found = companions(
        ">> Boats may stay for two hours.", "The harbour is small.", "This limit does not apply to the ferry."
    )

    assert found == (["This limit does not apply to the ferry."], [])


def test_what_stands_between_comes_along_where_it_could_be_the_rule_that_is_meant() -> None:
    found = companions(
        ">> Boats may stay for two hours.",
        "Barges may stay for a day.",
        "Residents are exempt from this limit.",
    )

    assert found == (["Barges may stay for a day.", "Residents are exempt from this limit."], [])


def test_a_sentence_two_on_that_names_no_rule_is_none_of_its_exceptions() -> None:
    found = companions(">> Boats may stay for two hours.", "The harbour is small.", "However, it is deep.")

    assert found == ([], [])


def test_an_exception_that_is_announced_is_fetched() -> None:
    found = companions(
        ">> All dogs must be on a lead (see exception below).",
        "Leads are sold at the gate.",
        "They cost little.",
        "Exception: guide dogs at work.",
    )

    assert found == (["Exception: guide dogs at work."], [])


def test_a_list_of_exceptions_comes_with_the_line_that_leads_it() -> None:
    found = companions(
        ">> Shops close at eight, with the following exceptions:", "* the bakery", "* the pharmacy", "Sundays are free."
    )

    assert found == (["the bakery", "the pharmacy"], [])


def test_an_exception_inside_a_list_comes_with_its_item() -> None:
    found = companions("Allowed are:", ">> * fires in the pit", "* except in a drought", "* music until ten")

    assert found[0] == ["except in a drought"]


def test_an_exception_after_a_list_holds_for_every_item() -> None:
    found = companions("Allowed are:", ">> * fires in the pit", "* music until ten", "These rules do not apply in May.")

    assert found[0] == ["These rules do not apply in May."]


def test_a_list_that_nothing_takes_back_has_no_companions() -> None:
    assert companions("Allowed are:", ">> * fires in the pit", "* music until ten", "Bins are at the gate.") == ([], [])


def test_there_are_enough_cases_to_show_it() -> None:
    assert len(TAKEN_BACK) + len(NOT_TAKEN_BACK) + len(REFERRED_TO) + len(SELF_CONTAINED) >= 40
