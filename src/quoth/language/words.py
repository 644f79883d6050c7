"""English function words: they carry no content of a question, and a capital on them makes no name."""

from __future__ import annotations

FUNCTION_WORDS = frozenset(
    """
    a about above according across after again against all almost along already also although always am among an and
    another any anyone anything are aren't around as at away be became because become becomes been before being below
    besides between both but by can can't cannot could couldn't did didn't do does doesn't doing don't done down during
    each either else enough especially etc even ever every everyone everything for from further generally given had
    hadn't has hasn't have haven't having he hence her here hers herself him himself his how however i i'm if in indeed
    instead into is isn't it it's its itself just kind kinds least less let like likely made mainly make makes many may
    maybe me might mine more most mostly much must my myself near need needs neither never no nobody none nor not
    nothing now of off often on once one ones only onto or other others otherwise ought our ours ourselves out over own
    per perhaps please quite rather really regarding said same say says shall she should shouldn't since so some
    somehow someone something sometimes somewhat still such than that that's the their theirs them themselves then
    there there's thereby therefore these they they're this those though through throughout thus to together too toward
    towards type types typically under unless until up upon us use used uses using usually various very via was wasn't
    we were weren't what what's whatever when whenever where whereas whereby wherein whether which whichever while who
    who's whoever whole whom whose why will with within without won't would wouldn't yes yet you you're your yours
    yourself
    describe explain list name give tell show state define discuss compare identify summarize summarise find provide
    mention mentions mentioned mean means called
    """.split()
)

POLAR_OPENERS = frozenset(
    "am are can could did do does had has have is may might must shall should was were will would".split()
)
CONDITIONALS = frozenset("if when whenever suppose assuming given unless provided with".split())

CONTRACTIONS = {
    "what's": "what is",
    "who's": "who is",
    "where's": "where is",
    "when's": "when is",
    "how's": "how is",
    "that's": "that is",
    "there's": "there is",
    "it's": "it is",
    "can't": "cannot",
    "won't": "will not",
    "n't": " not",
    "'re": " are",
    "'ve": " have",
    "'ll": " will",
    "i'm": "i am",
    "'d": " would",
}

FIXED_PAIRS = frozenset(
    """
    advantages/disadvantages arts/crafts assets/liabilities back/forth bed/breakfast benefits/drawbacks black/white
    checks/balances command/control conditions/restrictions copy/paste costs/benefits covenants/conditions
    covenants/restrictions cut/fill day/night dos/don'ts ebb/flow fair/equitable food/beverage food/drink full/final
    give/take goods/services health/safety heating/cooling hide/seek hopes/fears husband/wife in/out income/expenditure
    law/order loss/damage lost/found mergers/acquisitions name/address null/void nuts/bolts odds/ends pain/suffering
    parts/labor parts/labour peace/quiet pick/choose policies/procedures profit/loss pros/cons push/pull pushes/pulls
    questions/answers rank/file representations/warranties research/development restaurants/bars rights/duties
    rights/obligations risks/benefits rock/roll room/board rules/regulations sales/marketing salt/pepper
    science/technology search/rescue storage/handling strengths/weaknesses supply/demand terms/conditions time/materials
    track/field trial/error up/down ups/downs wear/tear weights/measures
    """.split()
)
"""`A/B` for words that make one expression with `and` between them: not two subjects."""
