"""Statements that disagree are named, and statements about different cases are left alone."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from quoth.answer.conflicts.find_conflicts import conflicts_of
from quoth.documents.sentences import split
from quoth.domain.profile import load_profile
from quoth.search.question_analysis import analyse
from quoth.settings import Settings
from quoth.types import (
    NO_FILTERS,
    Analysis,
    Conflict,
    ConflictKind,
    Question,
    Quote,
    RegionKind,
    Sentence,
    Span,
    Statement,
)


def asking(question: str, profile: str = "general") -> Analysis:
    settings = Settings().retrieval
    return analyse(Question("1", question, NO_FILTERS), profile=load_profile(profile), settings=settings)


def states(
    text: str,
    *,
    doc: str,
    section: tuple[str, ...] = (),
    authority: str | None = None,
    in_force: bool = True,
    start: int = 0,
    lead: str | None = None,
) -> Statement:
    kind = RegionKind.LIST_ITEM if lead else RegionKind.PARAGRAPH
    opening = Quote(Span(0, len(lead)), lead) if lead else None
    quote = Quote(Span(start, start + len(text)), text)
    sentence = Sentence(doc, quote, kind, section, opening, page=None, ocr=None, tags={})
    return Statement(sentence, doc.removesuffix(".md").title(), authority, authority_guessed=False, in_force=in_force)


class Pair(NamedTuple):
    """Two sentences of two documents, each under its heading, and what they say where they disagree."""

    question: str
    one: tuple[str, str]
    other: tuple[str, str]
    says: tuple[str, str] | None = None


DISAGREEING = [
    Pair(
        "How high may a fence be?",
        ("Fences", "No fence or wall in a Rear Yard or side yard shall exceed six (6) feet in height."),
        (
            "Height Limits",
            "A fence, wall or hedge in a required rear yard or side yard shall not exceed 7 ft in height.",
        ),
        ("six (6) feet", "7 ft"),
    ),
    Pair(
        "How tall can a fence be?",
        ("Fences", "Fences may be up to five feet tall."),
        ("Fences", "The maximum height of a fence is six feet."),
        ("five feet", "six feet"),
    ),
    Pair(
        "What is the maximum fence height?",
        ("Fences", "The maximum height is 2 metres."),
        ("Construction", "A fence must not be higher than 1.8 m."),
        ("2 metres", "1.8 m"),
    ),
    Pair(
        "How tall can a fence be in the rear yard?",
        ("Fences", "Fences shall not exceed 7 feet in height."),
        ("Fences", "A fence in a rear yard shall not exceed 6 feet in height."),
        ("7 feet", "6 feet"),
    ),
    Pair(
        "How far must a shed stand from the lot line?",
        ("Sheds", "A shed shall stand at least five (5) feet from every lot line."),
        ("Setbacks", "Sheds must be set back no less than ten feet from any lot line."),
        ("five (5) feet", "ten feet"),
    ),
    Pair(
        "How much notice must an employee give before leaving?",
        ("Leaving", "Employees must give at least two weeks' notice before leaving."),
        ("Notice", "An employee shall give at least 30 days' notice before leaving."),
        ("two weeks", "30 days"),
    ),
    Pair(
        "How long must a password be?",
        ("Passwords", "Passwords must have at least 12 characters."),
        ("Accounts", "The minimum password length is 8 characters."),
        ("12 characters", "8 characters"),
    ),
    Pair(
        "When must invoices be paid?",
        ("Payment", "Invoices are payable within thirty (30) days after receipt."),
        ("Invoices", "Payment of each invoice shall be made by the Customer within 45 days after receipt."),
        ("thirty (30) days", "45 days"),
    ),
    Pair(
        "How long do employees have to submit expense reports?",
        ("Expenses", "Expense reports must be submitted within 30 days of the trip."),
        ("Reports", "Employees shall submit expense reports within 60 days of the trip."),
        ("30 days", "60 days"),
    ),
    Pair(
        "How deep should canola be sown in clay soil?",
        ("Seeding", "Sow canola at a depth of 1 to 2 cm in clay soil."),
        ("Seeding depth", "Canola should be sown 4 to 5 cm deep in clay soil."),
        ("1 to 2 cm", "4 to 5 cm"),
    ),
    Pair(
        "What is the exposure limit for noise?",
        ("Noise", "Exposure to noise shall not exceed 8 hours per shift."),
        ("Noise", "The limit for exposure to noise is 6 hours per shift."),
        ("8 hours", "6 hours"),
    ),
    Pair(
        "How many pets may a tenant keep?",
        ("Pets", "A tenant may keep up to two pets."),
        ("Animals", "No more than three (3) pets may be kept."),
        ("two pets", "three (3) pets"),
    ),
    Pair(
        "What is the late fee on rent?",
        ("Rent", "The late fee on rent is $25."),
        ("Charges", "The late charge on rent is $40."),
        ("$25", "$40"),
    ),
    Pair(
        "How warm may the cold room be?",
        ("Storage", "The temperature of the cold room must not exceed 5 °C."),
        ("Cold room", "The cold room shall be kept below 8 °C."),
        ("5 °C", "8 °C"),
    ),
    Pair(
        "What share of the lot may be covered by buildings?",
        ("Coverage", "Buildings shall not cover more than 40% of the lot."),
        ("Coverage", "Buildings may cover up to thirty-five percent (35%) of the lot."),
        ("40%", "thirty-five percent"),
    ),
    Pair(
        "How long are backups kept?",
        ("Backups", "Backups must be kept for at least 90 days."),
        ("Retention", "Backups shall be kept for a minimum of 30 days."),
        ("90 days", "30 days"),
    ),
    Pair(
        "How wide must the emergency exit be?",
        ("Exits", "Emergency exits shall be at least 90 cm wide."),
        ("Exits", "The minimum width of an emergency exit is 1.2 m."),
        ("90 cm", "1.2 m"),
    ),
    Pair(
        "How many days of remote work are allowed each week?",
        ("Remote work", "Employees may work remotely up to three (3) days each week."),
        ("Remote work", "Remote work is limited to two days each week."),
        ("three (3) days", "two days"),
    ),
    Pair(
        "May tenants keep dogs?",
        ("Pets", "Tenants may keep dogs."),
        ("Animals", "Dogs are prohibited."),
        ("may keep", "prohibited"),
    ),
    Pair(
        "Are chain-link fences allowed?",
        ("Fences", "Chain-link, barbed wire and vinyl fences are prohibited."),
        ("Prohibited materials", "Chain-link fencing is allowed in rear and side yards."),
        ("prohibited", "is allowed"),
    ),
    Pair(
        "Can I park a trailer on the driveway?",
        ("Parking", "No boat, trailer or camper shall be parked on a driveway."),
        ("Vehicles", "Trailers may be parked on a driveway."),
        ("No boat, trailer or camper shall be parked", "may be parked"),
    ),
    Pair(
        "Is smoking allowed on the balcony?",
        ("Smoking", "Smoking is permitted on balconies."),
        ("House rules", "Smoking on balconies is not allowed."),
        ("is permitted", "not allowed"),
    ),
    Pair(
        "May employees use personal phones at work?",
        ("Phones", "Employees may use personal phones at work."),
        ("Phones", "Personal phones must not be used at work."),
        ("may use", "must not be used"),
    ),
    Pair(
        "Can I install a satellite dish without approval?",
        ("Dishes", "A satellite dish may be installed without board approval."),
        ("Antennas", "A satellite dish requires board approval."),
        ("without board approval", "requires board approval"),
    ),
    Pair(
        "Are open fires allowed in the park?",
        ("Fires", "Open fires are strictly prohibited in the park."),
        ("Park", "Open fires are welcome in the park."),
        ("strictly prohibited", "are welcome"),
    ),
    Pair(
        "Can visitors bring cameras into the plant?",
        ("Visitors", "Visitors may bring cameras into the plant."),
        ("Security", "Visitors may not bring cameras into the plant."),
        ("may bring", "may not bring"),
    ),
    Pair(
        "May subcontractors be used?",
        ("Subcontracting", "The Supplier may use subcontractors."),
        ("Staff", "The Supplier shall not use subcontractors."),
        ("may use", "shall not use"),
    ),
    Pair(
        "Do I need approval to paint the door?",
        ("Paint", "Approval is not required for painting a door."),
        ("Paint", "Approval is required for painting a door."),
        ("Approval is not required", "Approval is required"),
    ),
    Pair(
        "How many nights may guests park overnight?",
        ("Parking", "Guests may park overnight for up to 3 nights per month."),
        ("Guests", "Overnight guest parking is limited to seven nights per month."),
        ("3 nights", "seven nights"),
    ),
    Pair(
        "How much liability insurance must contractors carry?",
        ("Insurance", "Contractors must carry liability insurance of at least $1,000,000."),
        ("Contractors", "Contractors shall carry minimum liability insurance of $2,000,000."),
        ("$1,000,000", "$2,000,000"),
    ),
    Pair(
        "How long may a dog leash be?",
        ("Dogs", "Dogs must be kept on a leash no longer than six feet."),
        ("Pets", "Dogs shall be on a leash of not more than eight (8) feet."),
        ("six feet", "eight (8) feet"),
    ),
    Pair(
        "What is the limit for gifts?",
        ("Gifts", "Employees may not accept gifts worth more than $50."),
        ("Gifts", "Employees may accept gifts up to $100."),
        ("$50", "$100"),
    ),
    Pair(
        "How long does the landlord have to return the deposit?",
        ("Deposit", "The landlord shall return the security deposit within 30 days after the tenant moves out."),
        ("Security deposit", "The deposit is returned within forty-five (45) days after the tenant moves out."),
        ("30 days", "forty-five (45) days"),
    ),
    Pair(
        "What temperature must vaccines be stored at?",
        ("Storage", "Vaccines must be stored at 2 to 8 °C."),
        ("Storage", "Vaccines shall be stored at -25 to -15 °C."),
        ("2 to 8 °C", "-25 to -15 °C"),
    ),
]

AGREEING = [
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence in a front yard shall not exceed four feet in height."),
        ("Fences", "A fence in a rear yard shall not exceed six feet in height."),
    ),
    Pair(
        "How high may front and rear fences be?",
        ("Fences", "Front fences shall not exceed four feet in height."),
        ("Fences", "Rear fences shall not exceed six feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Front Yards", "Fences shall not exceed four feet in height."),
        ("Rear Yards", "Fences shall not exceed six feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "On a corner lot, a fence shall not exceed four feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "No fence within a sight triangle shall exceed thirty (30) inches in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "A retaining wall and a fence placed on top of it shall not exceed eight (8) feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "A fence that encloses a swimming pool shall be at least five feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "We recommend that fences next to the greenbelt be no higher than fifty-four (54) inches."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Existing Fences", "Fences shall not exceed five feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Recitals", "Fences in the district are limited to five feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Purpose", "Section 7.3 of the Declaration limits the height of a fence to five feet."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Conditions", "The fence shall not exceed five feet in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "Posts of a fence shall be set no more than eight feet apart."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "A fence shall not exceed 1.83 m in height."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "A fence shall not exceed six feet in height, except that an open fence may be seven feet high."),
        ("Fences", "A fence shall not exceed six feet in height, unless the neighbour agrees to seven feet."),
    ),
    Pair(
        "Who pays for a fence?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "A fence shall not exceed seven feet in height."),
    ),
    Pair(
        "What is the permit fee for a fence?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "A fence shall not exceed seven feet in height."),
    ),
    Pair(
        "How tall can a shed be?",
        ("Fences", "A fence shall not exceed six feet in height."),
        ("Fences", "A fence shall not exceed seven feet in height."),
    ),
    Pair(
        "How long does the committee have to decide on an application?",
        ("Decisions", "The committee shall decide an application within 45 days."),
        ("Solar Systems", "The committee shall decide an application within 30 days."),
    ),
    Pair(
        "How long does the committee have to decide on an application?",
        ("Decisions", "The committee shall decide an application within 45 days."),
        ("Decisions", "The committee shall decide a solar application within 30 days."),
    ),
    Pair(
        "How long does the committee have to decide?",
        ("Decisions", "The committee shall decide within 45 days after the application is complete."),
        ("Decisions", "The committee shall decide within 15 days after the hearing."),
    ),
    Pair(
        "How much notice must an employee give?",
        ("Notice", "Employees must give at least 30 days' notice."),
        ("Notice", "Managers must give at least 90 days' notice."),
    ),
    Pair(
        "How much notice must an employee give?",
        ("Notice", "Employees must give at least 30 days' notice."),
        ("Notice", "During the trial period, employees must give at least 7 days' notice."),
    ),
    Pair(
        "How much notice must be given?",
        ("Notice", "The employer shall give at least 60 days' notice of a transfer."),
        ("Notice", "The employee shall give at least 30 days' notice of a transfer."),
    ),
    Pair(
        "What is the fine for a violation?",
        ("Fines", "The fine for a first violation is $100."),
        ("Fines", "The fine for a second violation is $200."),
    ),
    Pair(
        "What is the fine for a violation?",
        ("Fines", "The fine for a violation is $100 for the first offence, $200 for the second."),
        ("Fines", "The fine for a violation is $50."),
    ),
    Pair(
        "What is the late fee on rent?",
        ("Rent", "The late fee on rent is $25."),
        ("Rent", "The late fee on rent is $5 per day."),
    ),
    Pair(
        "What is the assessment per lot?",
        ("Dues", "For 2020 the assessment is $1,380 per lot."),
        ("Dues", "For 2021 the assessment is $1,450 per lot."),
    ),
    Pair(
        "How long must a password be?",
        ("Passwords", "Passwords must have at least 12 characters."),
        ("Passwords", "Passwords of administrators must have at least 16 characters."),
    ),
    Pair(
        "How long must a password be?",
        ("Passwords", "Passwords must have at least 12 characters."),
        ("Passwords", "Passwords may have up to 64 characters."),
    ),
    Pair(
        "When must invoices be paid?",
        ("Payment", "Invoices are payable within 30 days after receipt."),
        ("Payment", "Disputed invoices are payable within 60 days after receipt."),
    ),
    Pair(
        "When must invoices be paid?",
        ("Payment", "Invoices are payable within 30 days after receipt."),
        ("Payment", "Objections to invoices shall be raised within 10 days after receipt."),
    ),
    Pair(
        "How deep should canola be sown?",
        ("Seeding", "Sow canola at a depth of 1 to 3 cm."),
        ("Seeding", "Canola should be sown 2 to 4 cm deep."),
    ),
    Pair(
        "How deep should canola be sown?",
        ("Seeding", "Sow canola at a depth of 1 to 2 cm in clay soil."),
        ("Seeding", "Canola should be sown 3 to 4 cm deep in sandy soil."),
    ),
    Pair(
        "How deep should canola be sown?",
        ("Seeding", "Sow canola at a depth of 1 to 2 cm."),
        ("Seeding", "Wheat should be sown 4 to 5 cm deep."),
    ),
    Pair(
        "What yield does canola give?",
        ("Trials", "In the trial canola was sown at a depth of 2 cm."),
        ("Trials", "Canola was sown at a depth of 5 cm in the trial."),
    ),
    Pair(
        "How far must a shed stand from the lot line?",
        ("Sheds", "A shed of 100 square feet or less shall stand at least three feet from the lot line."),
        ("Sheds", "A shed of more than 200 square feet shall stand at least ten feet from the lot line."),
    ),
    Pair(
        "How far must a shed stand from the lot line?",
        ("Sheds", "A shed shall stand at least five feet from the rear lot line."),
        ("Sheds", "A shed shall stand at least ten feet from the front lot line."),
    ),
    Pair(
        "May I keep dogs?",
        ("Pets", "Dogs are allowed."),
        ("Pets", "Cats are prohibited."),
    ),
    Pair(
        "May I keep pets?",
        ("Pets", "Pets are allowed."),
        ("Pets", "Pets are not allowed in the playground."),
    ),
    Pair(
        "May I keep pets?",
        ("Pets", "Pets are allowed with the consent of the landlord."),
        ("Pets", "Pets are prohibited unless the landlord agrees."),
    ),
    Pair(
        "May I keep pets?",
        ("Pets", "Pets may be kept."),
        ("Pets", "Pets shall not be bred."),
    ),
    Pair(
        "Can I park on the street?",
        ("Parking", "Parking on the street is not allowed between 1:00 a.m. and 5:00 a.m."),
        ("Parking", "Parking on the street is allowed."),
    ),
    Pair(
        "Can I park on the street?",
        ("Parking", "Commercial vehicles shall not be parked on the street."),
        ("Parking", "Guest vehicles may be parked on the street."),
    ),
    Pair(
        "Are signs allowed?",
        ("Signs", "Signs are prohibited, except one sign for the sale of the lot."),
        ("Signs", "A sign for the sale of the lot is allowed."),
    ),
    Pair(
        "Can I remove a tree?",
        ("Trees", "No tree shall be removed without the approval of the committee."),
        ("Trees", "A tree may be removed with the approval of the committee."),
    ),
    Pair(
        "Do I need a permit for a fence?",
        ("Fences", "A building permit is not required for a fence."),
        ("Fences", "A fence requires committee approval."),
    ),
    Pair(
        "May the Supplier use subcontractors?",
        ("Subcontracting", "The Supplier may use subcontractors."),
        ("Subcontracting", "The Customer shall not use subcontractors."),
    ),
    Pair(
        "May employees use personal phones at work?",
        ("Phones", "Employees may use personal phones at work."),
        ("Driving", "Personal phones must not be used while driving."),
    ),
    Pair(
        "May I paint the door?",
        ("Interior", "Doors may be painted."),
        ("Exterior", "Doors may not be painted."),
    ),
    Pair(
        "Is overtime allowed?",
        ("Overtime", "Overtime may lead to tiredness."),
        ("Overtime", "Overtime shall not exceed ten hours per week."),
    ),
    Pair(
        "How much water does the crop use to maturity?",
        ("Water", "For the first stage, the time to maturity is 35 days, and the water use to maturity is 7 inches."),
        ("Water", "For the second stage, the time to maturity is 15 days, and the water use to maturity is 2 inches."),
    ),
    Pair(
        "What share of the lot may buildings cover?",
        ("Coverage", "Buildings may cover up to 40% of the lot."),
        ("Coverage", "Buildings shall not cover more than forty percent (40%) of the lot."),
    ),
    Pair(
        "How long is the term of the agreement?",
        ("Term", "This Agreement shall renew automatically for successive terms of three years."),
        ("Term", "This Agreement shall renew automatically for successive terms of one (1) year."),
    ),
    Pair(
        "How many hens may be kept?",
        ("Hens", "Up to four hens may be kept on a lot of at least 6,000 square feet."),
        ("Hens", "Up to eight hens may be kept on a lot of at least 10,000 square feet."),
    ),
    Pair(
        "How high may a fence be?",
        ("Fences", "Fences shall not exceed six feet in height."),
        ("Fences", "I propose a fence that shall not exceed seven feet in height."),
    ),
]


def between(pair: Pair) -> tuple[Conflict, ...]:
    one = states(pair.one[1], doc="one.md", section=(pair.one[0],))
    other = states(pair.other[1], doc="other.md", section=(pair.other[0],))
    return conflicts_of([one, other], asking(pair.question), compounds=load_profile("governance").compounds)


def label(pair: Pair) -> str:
    return f"{pair.one[1][:40]} / {pair.other[1][:40]}"


@pytest.mark.parametrize("pair", DISAGREEING, ids=label)
def test_a_disagreement_is_named_in_the_words_of_the_sentences(pair: Pair) -> None:
    assert [conflict.says for conflict in between(pair)] == [pair.says]


@pytest.mark.parametrize("pair", AGREEING, ids=label)
def test_different_cases_do_not_disagree(pair: Pair) -> None:
    assert between(pair) == ()


def test_a_conflict_says_who_says_what_the_binding_first() -> None:
    guideline = states("Fences should be no higher than five feet.", doc="a guide.md", authority="guidance")
    code = states("No fence shall exceed seven (7) feet in height.", doc="code.md", authority="binding")
    wish = states("A fence shall not exceed 4 ft in height.", doc="a note.md")

    (found,) = conflicts_of([wish, guideline, code], asking("How high may a fence be?"))

    assert found.kind is ConflictKind.QUANTITY
    assert found.subject == "height of fence"
    assert found.statements == (code, guideline, wish)
    assert found.says == ("seven (7) feet", "five feet", "4 ft")
    assert found.detail == "Code (binding) says seven (7) feet, A Guide (guidance) says five feet, A Note says 4 ft."


def test_what_is_said_is_a_slice_of_the_sentence_though_it_goes_over_a_line() -> None:
    one = states("A fence shall not exceed six (6)\nfeet in height.", doc="one.md")
    other = states("A fence shall not exceed 7 feet in height.", doc="other.md")

    (found,) = conflicts_of([one, other], asking("How high may a fence be?"))

    assert found.says == ("six (6)\nfeet", "7 feet")
    assert found.detail == "One says six (6) feet, Other says 7 feet."


def test_the_order_of_the_statements_does_not_matter() -> None:
    pair = DISAGREEING[0]
    one = states(pair.one[1], doc="one.md", section=(pair.one[0],))
    other = states(pair.other[1], doc="other.md", section=(pair.other[0],))

    forth, back = (conflicts_of(both, asking(pair.question)) for both in ([one, other], [other, one]))

    assert forth == back
    assert len(forth) == 1


def test_what_is_not_in_force_and_what_decides_one_case_is_no_source() -> None:
    rule = states("Fences shall not exceed six feet in height.", doc="rules.md", authority="binding")
    text = "Fences shall not exceed five feet in height."
    others = [
        states(text, doc="old.md", authority="binding", in_force=False),
        states(text, doc="letter.md", authority="precedent"),
        states(text, doc="approval of application 2021-014.md", authority="binding"),
    ]

    assert [conflicts_of([rule, other], asking("How high may a fence be?")) for other in others] == [(), (), ()]


def test_sections_of_one_document_can_disagree_but_not_a_section_with_itself() -> None:
    text = "Backups shall be kept for at least {} days."
    one = states(text.format(30), doc="policy.md", section=("Backups",))
    other = states(text.format(90), doc="policy.md", section=("Retention",), start=500)
    near = states(text.format(90), doc="policy.md", section=("Backups",), start=500)
    question = asking("How long are backups kept?")

    (found,) = conflicts_of([one, other], question)

    assert found.detail == "Policy, Backups says 30 days, Policy, Retention says 90 days."
    assert conflicts_of([one, near], question) == ()


def test_inside_one_document_a_special_rule_is_no_conflict_with_the_general_one() -> None:
    general = states("Fences shall not exceed six feet in height.", doc="rules.md", section=("Fences",))
    special = "Fences on a corner lot shall not exceed four feet in height."
    question = asking("How high may a fence on a corner lot be?")

    inside = states(special, doc="rules.md", section=("Corners",), start=900)
    outside = states(special, doc="code.md", section=("Corners",))

    assert conflicts_of([general, inside], question) == ()
    assert [one.says for one in conflicts_of([general, outside], question)] == [("four feet", "six feet")]


def test_each_subject_has_a_conflict_of_its_own() -> None:
    statements = [
        states("Fences shall not exceed six feet in height.", doc="one.md"),
        states("Fences shall not exceed seven feet in height.", doc="other.md"),
        states("Electric fences are prohibited.", doc="one.md", start=100),
        states("Electric fences are allowed.", doc="other.md", start=100),
    ]

    found = conflicts_of(statements, asking("What are the rules on fences?"))

    assert [(one.kind, one.says) for one in found] == [
        (ConflictKind.QUANTITY, ("six feet", "seven feet")),
        (ConflictKind.PERMISSION, ("prohibited", "are allowed")),
    ]


def test_a_list_item_is_read_with_the_line_that_it_goes_on_from() -> None:
    lead = "Fences next to the greenbelt:"
    item = states("- shall not exceed four feet in height;", doc="one.md", lead=lead)
    rule = states("Fences shall not exceed six feet in height.", doc="other.md")
    same = states("Fences next to the greenbelt shall not exceed six feet in height.", doc="other.md")
    question = asking("How high may a fence be?")

    assert conflicts_of([item, rule], question) == ()
    assert [one.says for one in conflicts_of([item, same], question)] == [("four feet", "six feet")]


def test_another_name_that_the_profile_knows_names_the_thing_asked_for() -> None:
    one = states("The ARC shall decide within 45 days after the meeting.", doc="one.md")
    other = states("The ARC shall decide within 30 days after the meeting.", doc="other.md")

    assert len(conflicts_of([one, other], asking("When must the ARC decide?", profile="governance"))) == 1


def test_no_statements_and_no_things_asked_for_give_nothing() -> None:
    rules = [
        states("Fences shall not exceed 6 feet.", doc="one.md"),
        states("Fences shall not exceed 7 feet.", doc="b.md"),
    ]

    assert conflicts_of([], asking("How high may a fence be?")) == ()
    assert conflicts_of(rules, asking("What is the maximum?")) == ()


EXAMPLE = Path(__file__).parents[2] / "examples" / "governance"


def test_the_sample_corpus_has_the_conflicts_that_it_was_written_with() -> None:
    statements = [
        statement
        for path in sorted(EXAMPLE.glob("*.md"))
        for statement in everything(
            path, "precedent" if "letter" in path.name or "submittal" in path.name else "binding"
        )
    ]

    heights = conflicts_of(statements, asking("What's the max fence height allowed in my backyard?"))
    materials = conflicts_of(statements, asking("Are chain-link fences allowed?"))
    sheds = conflicts_of(statements, asking("How tall can a shed be?"))

    assert [one.says for one in heights] == [("six (6) feet", "seven (7) feet")]
    assert [(one.subject, one.says) for one in materials] == [("chain-link fences", ("prohibited", "is allowed"))]
    assert sheds == ()


def everything(path: Path, authority: str) -> list[Statement]:
    """Every sentence of a Markdown file; Section 7.3 of the declaration has been replaced."""
    text = path.read_bytes().decode()
    return [
        Statement(
            Sentence(
                path.name, Quote(span, text[span.start : span.end]), region.kind, region.section, None, None, None, {}
            ),
            path.stem,
            authority,
            authority_guessed=False,
            in_force=not (path.stem == "declaration-ccr" and region.section[-1:] == ("Section 7.3 Fences and Walls",)),
        )
        for region, spans in split(text, format="markdown")
        for span in spans
    ]
