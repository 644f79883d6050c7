from __future__ import annotations

import pytest

from quoth.domain.profile import load_profile
from quoth.search.follow_ups import understood

FARM, HOMES, PAPERS = "agriculture", "governance", "general"

LEANING = [
    (FARM, "What soil pH is best for soybeans?", "and for canola?", "What soil pH is best for canola?"),
    (FARM, "What soil pH is best for canola?", "what about soybeans?", "What soil pH is best for soybeans?"),
    (FARM, "How deep should soybeans be planted?", "And canola?", "How deep should canola be planted?"),
    (FARM, "How deep should soybeans be planted?", "canola?", "How deep should canola be planted?"),
    (FARM, "When should winter wheat be sown?", "and canola", "When should canola be sown?"),
    (FARM, "When should winter wheat be sown?", "and spring wheat?", "When should spring wheat be sown?"),
    (FARM, "What is the best soybean row spacing?", "how about corn?", "What is the best corn row spacing?"),
    (FARM, "When should soybeans be planted?", "how deep?", "How deep should soybeans be planted?"),
    (FARM, "When should soybeans be planted?", "and how deep for canola?", "How deep should canola be planted?"),
    (FARM, "What soil pH is best for canola?", "how deep should it be sown?", "How deep should canola be sown?"),
    (FARM, "What soil pH is best for canola?", "how deep?", "How deep for canola?"),
    (FARM, "What soil pH is best for canola?", "why?", "What soil pH is best for canola, why?"),
    (FARM, "What soil pH is best for canola?", "and the row spacing?", "What row spacing is best for canola?"),
    (
        FARM,
        "What soil pH is best for canola?",
        "and what seeding rate is best?",
        "What seeding rate is best for canola?",
    ),
    (FARM, "What was the canola yield in 2022?", "and in 2023?", "What was the canola yield in 2023?"),
    (FARM, "What was the canola yield?", "and in 2023?", "What was the canola yield in 2023?"),
    (
        FARM,
        "How much nitrogen does corn need?",
        "and in sandy soils?",
        "How much nitrogen does corn need in sandy soils?",
    ),
    (FARM, "How much nitrogen does corn need?", "how much phosphorus?", "How much phosphorus does corn need?"),
    (FARM, "When is canola harvested?", "what is its ideal soil pH?", "What is canola's ideal soil pH?"),
    (
        FARM,
        "What is the minimum soil temperature for corn?",
        "and the maximum?",
        "What is the maximum soil temperature for corn?",
    ),
    (FARM, "How do I control blackleg in canola?", "and in wheat?", "How do I control blackleg in wheat?"),
    (FARM, "Does canola need sulfur?", "how much?", "Does canola need sulfur, how much?"),
    (HOMES, "How high may a fence be?", "does it need a permit?", "Does a fence need a permit?"),
    (HOMES, "How high may a fence be?", "and in the front yard?", "How high may a fence be in the front yard?"),
    (
        HOMES,
        "How high may a fence be in the front yard?",
        "in the back yard?",
        "How high may a fence be in the back yard?",
    ),
    (HOMES, "How high may a fence be?", "what about sheds?", "How high may sheds be?"),
    (HOMES, "How high may a fence be?", "Can the association remove it?", "Can the association remove a fence?"),
    (HOMES, "When are assessments due?", "when must they be paid?", "When must assessments be paid?"),
    (HOMES, "When are assessments due?", "who sets them?", "Who sets assessments?"),
    (HOMES, "What is the late fee for assessments?", "and for fines?", "What is the late fee for fines?"),
    (HOMES, "What is the late fee for assessments?", "when is it due?", "When is the late fee for assessments due?"),
    (HOMES, "Is a permit needed for a shed?", "why?", "Why is a permit needed for a shed?"),
    (HOMES, "May a fence stand in the front yard?", "how high?", "How high may a fence stand in the front yard?"),
    (HOMES, "What do the CC&Rs say about fences?", "and the guidelines?", "What do the guidelines say about fences?"),
    (
        HOMES,
        "How high may a fence be according to the CC&Rs?",
        "and according to the design guidelines?",
        "How high may a fence be according to the design guidelines?",
    ),
    (HOMES, "What is the setback for Lot 47?", "and Lot 112?", "What is the setback for Lot 112?"),
    (HOMES, "Are dogs allowed at the pool?", "what about cats?", "Are cats allowed at the pool?"),
    (HOMES, "When is the annual meeting held?", "where?", "Where is the annual meeting held?"),
    (HOMES, "When is the annual meeting held?", "Where is it held?", "Where is the annual meeting held?"),
    (HOMES, "What is the fine for late payment?", "who sets it?", "Who sets the fine for late payment?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "and RoBERTa?", "What accuracy did RoBERTa reach on SQuAD?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "and on MNLI?", "What accuracy did BERT reach on MNLI?"),
    (PAPERS, "What learning rate was used?", "and the batch size?", "What batch size was used?"),
    (
        PAPERS,
        "How many participants were enrolled in the treatment group?",
        "and in the control group?",
        "How many participants were enrolled in the control group?",
    ),
    (
        PAPERS,
        "What was the primary endpoint of the study?",
        "was it met?",
        "Was the primary endpoint of the study met?",
    ),
    (
        PAPERS,
        "What are the limitations of the model?",
        "how can they be addressed?",
        "How can the limitations of the model be addressed?",
    ),
    (PAPERS, "When was the survey conducted?", "by whom?", "By whom was the survey conducted?"),
    (PAPERS, "How was the model evaluated?", "on what data?", "On what data was the model evaluated?"),
    (PAPERS, "What is the maximum dose?", "and the minimum?", "What is the minimum dose?"),
    (
        PAPERS,
        "What percentage of patients responded at 12 weeks?",
        "and at 24 weeks?",
        "What percentage of patients responded at 24 weeks?",
    ),
    (
        HOMES,
        "Which trees are allowed in the front yard?",
        "do they need approval?",
        "Do trees allowed in the front yard need approval?",
    ),
    (PAPERS, "Which dataset was used for training?", "how large is it?", "How large is dataset used for training?"),
    (FARM, "When do soybean aphids arrive?", "how do I control them?", "How do I control soybean aphids?"),
    (PAPERS, "What was the mean age of participants?", "and the median?", "What was the median of participants?"),
    (HOMES, "How many pets may an owner keep?", "what about renters?", "How many pets may an owner keep, renters?"),
    (HOMES, "Can I park an RV in my driveway?", "for how long?", "For how long can I park an RV in my driveway?"),
    (FARM, "What moisture is safe for storing wheat?", "and barley?", "What moisture is safe for storing barley?"),
    (
        FARM,
        "What moisture is safe for storing wheat?",
        "for six months?",
        "What moisture is safe for storing wheat for six months?",
    ),
    (FARM, "How do I recognise sclerotinia in canola?", "when does it appear?", "When does sclerotinia appear?"),
    (HOMES, "How high can a gazebo be?", "Does the ARC have to approve it?", "Does the ARC have to approve a gazebo?"),
    (PAPERS, "What learning rate does the model use?", "and batch size?", "What batch size does the model use?"),
    (PAPERS, "What does dropout do?", "why is it needed?", "Why is dropout needed?"),
]

STANDING_ALONE = [
    (FARM, "What soil pH is best for soybeans?", "How deep should canola be sown?"),
    (FARM, "What soil pH is best for soybeans?", "Is it safe to graze canola?"),
    (FARM, "What soil pH is best for soybeans?", "What happens when canola freezes before it flowers?"),
    (FARM, "What soil pH is best for soybeans?", "In which months is canola sown?"),
    (FARM, "What soil pH is best for soybeans?", "canola soil pH"),
    (FARM, "What soil pH is best for soybeans?", "What about the soil makes canola yellow?"),
    (FARM, "What soil pH is best for soybeans?", "Why is crop rotation important?"),
    (FARM, "What soil pH is best for soybeans?", "Which crops tolerate frost?"),
    (FARM, "Which crops tolerate frost?", "Do they need nitrogen?"),
    (FARM, "How deep should soybeans be planted?", "What should I do if it rains?"),
    (FARM, "How deep should soybeans be planted?", "soil temperature"),
    (FARM, "How deep should soybeans be planted?", "How to inoculate seed?"),
    (FARM, "How deep should soybeans be planted?", "And how deep should canola be planted?"),
    (FARM, "How deep should soybeans be planted?", "What causes blackleg?"),
    (HOMES, "How high may a fence be?", "How long does it take to get approval?"),
    (HOMES, "How high may a fence be?", "Is it legal to keep chickens?"),
    (HOMES, "How high may a fence be?", "If a tree falls, who must remove it?"),
    (HOMES, "How high may a fence be?", "Do owners have to maintain their lawns?"),
    (HOMES, "How high may a fence be?", "Does the association own the pool and must it repair it?"),
    (HOMES, "How high may a fence be?", "For how long must records be kept?"),
    (HOMES, "How high may a fence be?", "Who may vote at the annual meeting?"),
    (HOMES, "How high may a fence be?", "What is a setback?"),
    (HOMES, "How high may a fence be?", "And what is a setback?"),
    (HOMES, "How high may a fence be?", "Who approves changes?"),
    (HOMES, "How high may a fence be?", "Can I appeal a fine, and how is it decided?"),
    (HOMES, "How high may a fence be?", "Thanks"),
    (HOMES, "May the association remove a tree?", "Who pays for that?"),
    (HOMES, "May the association remove a tree?", "Any other rules?"),
    (HOMES, "What is the late fee for assessments?", "Is there a rule that says it must be paid in cash?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "How does RoBERTa represent its input?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "How do the authors justify their choice of baseline?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "What is it called when a model memorises its training data?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "How many participants were female?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "Which optimizer was used for training?"),
    (PAPERS, "What accuracy did BERT reach on SQuAD?", "attention heads"),
    (PAPERS, "What was the primary endpoint of the study?", "How large was the sample?"),
    (PAPERS, "What was the primary endpoint of the study?", "Was the study registered before it began?"),
    (PAPERS, "What was the primary endpoint of the study?", "To what extent did adherence vary?"),
    (PAPERS, "What was the primary endpoint of the study?", "When patients relapsed, how were they treated?"),
    (PAPERS, "What was the primary endpoint of the study?", "Why not use a placebo?"),
]


@pytest.mark.parametrize(("profile", "last", "new", "meant"), LEANING)
def test_a_follow_up_keeps_what_the_last_question_was_about(profile: str, last: str, new: str, meant: str) -> None:
    assert understood(new, [last], profile=load_profile(profile)) == meant


@pytest.mark.parametrize(("profile", "last", "new"), STANDING_ALONE)
def test_a_question_that_stands_alone_is_asked_as_it_is(profile: str, last: str, new: str) -> None:
    assert understood(new, [last], profile=load_profile(profile)) is None


@pytest.mark.parametrize(("profile", "last", "new", "meant"), LEANING)
def test_what_was_understood_stands_alone(profile: str, last: str, new: str, meant: str) -> None:
    assert understood(meant, [last], profile=load_profile(profile)) is None
    assert understood(last, [meant], profile=load_profile(profile)) is None


def test_a_follow_up_of_a_follow_up_leans_on_what_that_meant() -> None:
    talk = ["How deep should soybeans be planted?", "and canola?"]

    assert understood("when?", talk, profile=load_profile(FARM)) == "When should canola be planted?"


def test_what_a_question_leaves_open_no_other_question_leans_on() -> None:
    talk = ["Which crops tolerate frost?", "do they need nitrogen?"]

    assert understood("how much?", talk, profile=load_profile(FARM)) is None


def test_an_added_question_word_is_not_kept() -> None:
    talk = ["What soil pH is best for canola?", "why?"]

    assert understood("and for wheat?", talk, profile=load_profile(FARM)) == "What soil pH is best for wheat?"


def test_a_very_long_question_stands_alone() -> None:
    story = "If it helps " * 10_000

    assert understood(story, ["How high may a fence be?"], profile=load_profile(HOMES)) is None
    assert understood("why?", [story], profile=load_profile(HOMES)) is None


def test_the_first_question_of_a_talk_has_nothing_to_lean_on() -> None:
    assert understood("and for canola?", [], profile=load_profile(FARM)) is None


@pytest.mark.parametrize(("profile", "last", "new", "meant"), LEANING)
def test_every_word_comes_from_one_of_the_two_questions(profile: str, last: str, new: str, meant: str) -> None:
    spoken = f"{last} {new}".lower().replace("?", " ").replace(",", " ").split()

    assert {word.strip("?,").removesuffix("'s") for word in meant.lower().split()} <= set(spoken)
