"""Words that tell a heading from a statement, an order, a name or a connecting line. English; lower case."""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


SMALL_WORDS = _words(
    "a an and as at but by for from if in into nor of off on onto or over per the to up upon via vs with"
)
"""Words that titles in title case write small."""

STATING_WORDS = _words(
    """
    am are be been being can cannot could did didn't do does doesn't don't had has hasn't have haven't hereby is isn't
    it it's must shall should shouldn't they they're was wasn't were weren't will won't would i'm we're you're aren't
    agree agrees agreed acknowledge acknowledges undertake undertakes hereinafter whereof thereof
    """
)
"""Words that a statement has and a title has not."""

COMMANDS = _words(
    """
    add adjust apply ask avoid call check choose clean click close consult contact cover dispose enter ensure fill
    follow insert keep leave let make mix never open place please pour press print pull push put read remove replace
    return rinse see select set shake sign stay stop store switch take tighten turn use wash wear
    """
)
"""A line that begins with one tells somebody what to do, unless the word goes on as a noun (`USE OF FUNDS`)."""

ALERTS = _words("warning caution danger attention stop hazard poison")
"""A line that begins with one is meant to be read, not to name a section."""

MARKS = _words("note notice important confidential draft")
"""So is a line that is one of these alone; with a noun behind it (`CONFIDENTIAL INFORMATION`) it may be a title."""

CONNECTIVES = _words(
    """
    and between but by now or therefore whereas witness witnesseth with to from re cc attn attention dear sincerely
    subject signed dated date name page
    """
)
"""Lines that join or fill in: `AND`, `BY AND BETWEEN`, `WITNESSETH`, `TO`."""

CLOSING_WORDS = _words(
    "a an and as at above below between but by follows following for from in into of on or that the this to which with"
)
"""A line that ends with one goes on."""

COMPANY_WORDS = _words("company corporation incorporated limited llc partnership trust bank gmbh")
"""A line in capitals that ends with one names a party."""

SINGLE_TITLES = frozenset(
    """
    abstract|acknowledgements|acknowledgments|acknowledgement|acknowledgment|annexes|appendices|appendix|approach
    arbitration|assignment|assumptions|attachments|authors|background|benefits|bibliography|compensation|compliance
    conclusion|conclusions|conditions|confidentiality|costs|covenants|data availability|definitions|definition
    deliverables|discussion|disclaimer|duration|duties|enforcement|eligibility|equipment|examples|exclusions|executive
    summary|executive summary|exhibits|expenses|fees|findings|foreword|funding|further reading|glossary|governing law
    headings|implementation|indemnification|indemnity|insurance|interpretation|introduction|invoices|liability
    limitations|maintenance|materials|materials and methods|methodology|methods|miscellaneous|notices|objectives
    objective|obligations|overview|ownership|payment|payments|penalties|preamble|preface|prices|pricing|principles
    procedures|procedure|purpose|recitals|recommendations|references|related work|remedies|renewal|representations
    requirements|responsibilities|results|results and discussion|royalties|rules|safety|schedules|scope|services
    severability|signatures|specifications|summary|survival|taxes|term|termination|terms|terms and conditions|territory
    training|troubleshooting|waiver|warranties|warranty
    """.strip()
    .replace("\n", "|")
    .replace("    ", "")
    .split("|")
)
"""Titles that head a section whatever the document is about."""
