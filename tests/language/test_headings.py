"""A heading is known by its words alone, and a statement is never taken for one."""

from __future__ import annotations

import pytest

from quoth.language.headings import heading, heading_rank, heading_title


@pytest.mark.parametrize(
    ("line", "rank"),
    [
        ("Exhibit B", 1),
        ("EXHIBIT C-5", 1),
        ("Exhibit 99(d)(2)", 1),
        ("Exhibit (e)(3)", 1),
        ("Schedule A", 1),
        ("Schedule 1.1(u) - Licensed Trademarks", 1),
        ("SCHEDULE A TO THE LEASE", 1),
        ("Appendix 2", 1),
        ("ANNEX III: FORMS", 1),
        ("Attachment 3 – Price List", 1),
        ("PART II", 2),
        ("Part A: General", 2),
        ("TITLE IX", 2),
        ("ARTICLE VII", 3),
        ("Article 7 - Fences", 3),
        ("Article IV. Duties of the Board", 3),
        ("ARTICLE VII\nARCHITECTURAL CONTROL", 3),
        ("CHAPTER 4", 3),
        ("CHAPTER ONE", 3),
        ("Chapter 3. Bees in winter", 3),
        ("Subpart C", 4),
        ("GRANT OF FRANCHISE", 5),
        ("MUTUAL NONDISCLOSURE AGREEMENT", 5),
        ("USE OF PROCEEDS", 5),
        ("CONFIDENTIAL INFORMATION", 5),
        ("RECITALS", 5),
        ("INDEMNIFICATION", 5),
        ("INTRODUCTION:", 5),
        ("FIELD DAY AT HOLLIS: WHAT WE LEARNT", 5),
        ("Introduction", 6),
        ("References", 6),
        ("Materials and Methods", 6),
        ("Section 7", 7),
        ("SECTION 3. TERM", 7),
        ("Sec. 12", 7),
        ("§ 12", 7),
        ("Clause 4: Payment", 7),
        ("4. Materials", 7),
        ("1.  GRANT OF FRANCHISE", 7),
        ("5. OWNERSHIP.", 7),
        ("15. Miscellaneous.", 7),
        ("11. Specific Performance; Remedies.", 7),
        ("13.  DAMAGES", 7),
        ("12. NON-ASSIGNMENT", 7),
        ("IV. MATERIALS", 7),
        ("II. Background", 7),
        ("1 Introduction", 7),
        ("Section 7.3", 8),
        ("Section 7.3 Fences and Walls", 8),
        ("12.03.   Right of First Refusal", 8),
        ("3.2 Soil sampling and analysis", 8),
        ("A.4 Tone Generation", 8),
        ("H.   Compliance With Applicable Law.", 8),
        ("4.2.1 Materials", 9),
        ("Section 7.3.1", 9),
        ("4.2.1.5 Seed", 10),
    ],
)
def test_a_heading_has_its_rank(line: str, rank: int) -> None:
    assert heading_rank(line) == rank


@pytest.mark.parametrize(
    "line",
    [
        # statements, and headings that go on as one
        "Wheat is sown in autumn.",
        "THE SUPPLIER SHALL NOT BE LIABLE",
        "THE PARTIES AGREE AS FOLLOWS:",
        "1. Services. At the request of the client we work.",
        "Section 4.2 Notices. All notices shall be in writing.",
        "Section 4.2 of this Agreement",
        "Article 5 applies to all tenants",
        "section 4.2",
        "part of the job",
        "4.3 The Owner shall pay",
        # orders and warnings
        "KEEP OUT OF REACH OF CHILDREN",
        "DO NOT OPEN",
        "WARNING: HOT SURFACE",
        "CAUTION",
        "NOTICE",
        "CONFIDENTIAL",
        "NOTE: PUMP IS HOT",
        "DANGER OF DEATH",
        "CALL 911",
        "WEAR EYE PROTECTION",
        # connecting lines
        "AND",
        "BY AND BETWEEN",
        "WITNESSETH",
        "IN WITNESS WHEREOF",
        "WHEREAS",
        "WRITTEN ABOVE:",
        # single words that name no section
        "NASA",
        "ATRAZINE",
        "2,4-D",
        "N/A",
        # names, places, dates, forms
        "SOLAR POWER, INC.",
        "NORTHERN RAILWAY COMPANY",
        "JOHN A. SMITH",
        "12 Main Street",
        "Edina, MN 55435-5228",
        "SPRINGFIELD, IL 62704",
        "1600 E. Main St.",
        "JANUARY 5, 2020",
        "9/15",
        "By: ____",
        "By: /s/ John Smith",
        "TITLE: PRESIDENT",
        "Address:",
        "PRINT TITLE PRINT TITLE",
        "[SIGNATURE PAGE FOLLOWS]",
        "EXHIBIT A   LEAD FORM   Customer Info:   Date:",
        "info@example.com",
        # items, rows, quantities
        "(a) Term",
        "- Materials",
        "• Materials",
        "1. rust",
        "1. Remove the wheel nuts",
        "3.1 Already possesses;",
        "B. REDACTED",
        "2.5 cm",
        "2.5 Acres",
        "3 apples",
        "Apples | 3 | 4",
        "CD           Cassette        Song book",
        "YIELD        12        14",
        # too long, or nothing
        "",
        "   ",
        "A " + "VERY " * 30 + "LONG TITLE",
        "ONE\nTWO LINES\nTHREE LINES\nFOUR LINES",
    ],
)
def test_what_is_no_heading_is_left_to_the_text(line: str) -> None:
    assert heading_rank(line) is None


def test_ranks_are_comparable_inside_one_document() -> None:
    ranks = [
        heading_rank(line) or 0
        for line in ("EXHIBIT A", "PART II", "ARTICLE VII", "GENERAL TERMS", "Section 7", "Section 7.3", "7.3.1 Posts")
    ]

    assert ranks == sorted(set(ranks))


def test_a_plain_number_heads_only_where_the_document_says_so() -> None:
    line = "5 Return of Information"

    assert heading(line) is None
    assert (found := heading(line, bare_numbers=True)) is not None
    assert (found.rank, found.style, found.number, found.words) == (7, "bare", "5", "Return of Information")


def test_a_title_has_single_spaces() -> None:
    assert heading_title("ARTICLE  VII\n\tFENCES ") == "ARTICLE VII FENCES"
