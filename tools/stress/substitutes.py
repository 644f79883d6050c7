"""What a question's words are exchanged for: ordinary place names, opposites, units, number words."""

from __future__ import annotations

from quoth.language import numbering

PLACES = tuple(
    place.strip()
    for place in """
    Argentina, Australia, Austria, Bangladesh, Belgium, Bolivia, Brazil, Bulgaria, Cambodia, Canada, Chile, China,
    Colombia, Croatia, Cuba, Denmark, Ecuador, Egypt, Estonia, Ethiopia, Finland, France, Germany, Ghana, Greece,
    Guatemala, Hungary, Iceland, India, Indonesia, Iran, Ireland, Israel, Italy, Jamaica, Japan, Kenya, Latvia,
    Lithuania, Malaysia, Mexico, Mongolia, Morocco, Myanmar, Nepal, the Netherlands, New Zealand, Nigeria, Norway,
    Pakistan, Paraguay, Peru, the Philippines, Poland, Portugal, Romania, Russia, Scotland, Senegal, Serbia, Slovakia,
    Slovenia, South Africa, South Korea, Spain, Sri Lanka, Sweden, Switzerland, Tanzania, Thailand, Tunisia, Turkey,
    Uganda, Ukraine, Uruguay, Venezuela, Vietnam, Wales, Zambia, Zimbabwe, Alabama, Alaska, Alberta, Andalusia, Arizona,
    Arkansas, Bavaria, Brittany, California, Colorado, Connecticut, Delaware, Florida, Hawaii, Idaho, Illinois, Indiana,
    Iowa, Kansas, Kentucky, Louisiana, Maine, Manitoba, Maryland, Massachusetts, Michigan, Minnesota, Mississippi,
    Missouri, Montana, Nebraska, Nevada, New Jersey, New Mexico, North Carolina, North Dakota, Normandy, Nova Scotia,
    Ohio, Oklahoma, Ontario, Oregon, Pennsylvania, Punjab, Quebec, Queensland, Saskatchewan, Sicily, South Dakota,
    Tasmania, Tennessee, Texas, Utah, Vermont, Virginia, Wisconsin, Wyoming, Yorkshire, Amsterdam, Athens, Atlanta,
    Auckland, Baltimore, Bangkok, Barcelona, Beijing, Berlin, Birmingham, Bogota, Boston, Bristol, Brussels, Bucharest,
    Budapest, Buenos Aires, Cairo, Calgary, Cape Town, Casablanca, Chicago, Cleveland, Copenhagen, Dallas, Delhi,
    Denver, Detroit, Dublin, Edinburgh, Edmonton, Geneva, Glasgow, Hamburg, Hanoi, Havana, Helsinki, Houston, Istanbul,
    Jakarta, Karachi, Kyoto, Lagos, Leeds, Lima, Lisbon, Liverpool, London, Los Angeles, Lyon, Madrid, Manchester,
    Manila, Marseille, Melbourne, Miami, Milan, Milwaukee, Minneapolis, Montreal, Moscow, Mumbai, Munich, Nairobi,
    Naples, New Orleans, New York, Osaka, Oslo, Ottawa, Paris, Perth, Philadelphia, Phoenix, Pittsburgh, Prague, Rome,
    Rotterdam, San Diego, San Francisco, Santiago, Seattle, Seoul, Shanghai, Singapore, Sofia, Stockholm, Sydney, Tokyo,
    Toronto, Tucson, Turin, Vancouver, Venice, Vienna, Warsaw, Winnipeg, Zurich
    """.split(",")
)
"""Countries, states and cities that a text would name as such."""

_OPPOSITES = """
    maximum/minimum max/min most/least highest/lowest largest/smallest longest/shortest earliest/latest
    fastest/slowest strongest/weakest best/worst tallest/shortest deepest/shallowest oldest/newest
    increase/decrease increases/decreases increased/decreased raise/lower raises/lowers raised/lowered
    gain/lose gains/loses gained/lost grow/shrink rise/fall rose/fell accelerate/delay
    before/after above/below inside/outside upstream/downstream
    allow/prohibit allows/prohibits allowed/prohibited permitted/forbidden
    approve/reject approved/rejected accept/refuse accepted/refused require/forbid requires/forbids
    with/without including/excluding early/late wet/dry warm/cold hot/cold cool/hot
    spring/autumn summer/winter upper/lower front/rear indoor/outdoor public/private
    cause/prevent causes/prevents caused/prevented improve/worsen improves/worsens improved/worsened
    safe/unsafe safe/dangerous suitable/unsuitable legal/illegal lawful/unlawful valid/invalid
    open/close opens/closes opened/closed start/end starts/ends began/ended begin/end begins/ends
    win/lose won/lost buy/sell bought/sold
    attack/defend attacked/defended support/oppose supported/opposed arrive/depart arrived/departed
    high/low deep/shallow heavy/light strong/weak major/minor rich/poor advantage/disadvantage
    advantages/disadvantages benefit/drawback benefits/drawbacks positive/negative
    success/failure strength/weakness strengths/weaknesses
    add/remove added/removed build/demolish built/demolished create/destroy created/destroyed
    import/export imported/exported healthy/diseased young/old fresh/stale living/dead
    employer/employee buyer/seller landlord/tenant lender/borrower licensor/licensee parent/child
    drained/flooded losing/gaining held/cancelled faster/slower larger/smaller higher/lower cooler/warmer wetter/drier
    more/less better/worse sooner/later easier/harder cheaper/dearer equally/unequally twice/half safer/riskier
    internal/external voluntary/mandatory temporary/permanent direct/indirect
"""


def _both_ways() -> dict[str, tuple[str, ...]]:
    opposites: dict[str, tuple[str, ...]] = {}
    for one, other in (pair.split("/") for pair in _OPPOSITES.split()):
        opposites[one] = (*opposites.get(one, ()), other)
        opposites[other] = (*opposites.get(other, ()), one)
    return opposites


OPPOSITES = _both_ways()

OPPOSITE_PHRASES = {
    "turned down": "approved",
    "take effect": "lapse",
    "took effect": "lapsed",
    "cut back": "increase",
    "shall not": "shall always",
    "may not": "may",
    "must not": "must",
    "does not": "does",
    "do not": "do",
    "is not": "is",
    "has not": "has",
}
"""Opposites of more than one word, one way only."""

UNIT_WORDS = {
    "length": ("centimetres", "metres", "feet"),
    "mass": ("kilograms", "pounds", "tonnes"),
    "volume": ("litres", "gallons"),
    "time": ("days", "hours", "weeks"),
    "month": ("months", "years"),
    "share": ("percent",),
    "dollar": ("dollars",),
    "area": ("hectares", "acres"),
    "pressure": ("kilopascals",),
    "temperature": ("degrees Celsius",),
    "power": ("kilowatts",),
    "bushel": ("bushels",),
}
"""Units as they are written out, by dimension."""

FOREIGN = {
    "length": ("volume", "mass"),
    "mass": ("volume", "dollar"),
    "volume": ("mass", "dollar"),
    "time": ("dollar",),
    "month": ("dollar",),
    "area": ("volume", "mass"),
    "share": ("dollar", "mass"),
    "dollar": ("mass", "volume"),
    "bushel": ("volume", "dollar"),
}
"""Dimensions in which a question about another one can be put and still be read."""

TWINS = {
    "mm": ("cm", "inches"),
    "cm": ("inches", "feet"),
    "inches": ("feet", "centimetres"),
    "inch": ("foot", "centimetre"),
    "feet": ("yards", "metres"),
    "foot": ("yard", "metre"),
    "metres": ("feet", "miles"),
    "meters": ("feet", "miles"),
    "meter": ("foot", "mile"),
    "km": ("metres", "feet"),
    "miles": ("metres", "feet"),
    "lb": ("kg", "tonnes"),
    "pounds": ("tonnes", "kilograms"),
    "kg": ("lb", "tonnes"),
    "kilograms": ("pounds", "tonnes"),
    "hours": ("days", "weeks"),
    "minutes": ("hours", "days"),
    "days": ("weeks", "hours"),
    "day": ("week", "hour"),
    "weeks": ("days", "hours"),
    "months": ("years",),
    "years": ("months",),
    "°C": ("°F",),
    "°F": ("°C",),
    "$": ("€", "£"),
    "litres": ("gallons",),
    "gallons": ("litres",),
    "ha": ("acre",),
    "hectare": ("acre",),
}
"""Units that are taken for one another: the same number with the other unit is another amount."""

ASKED_AS = {
    "tall": ("heavy", "old"),
    "high": ("heavy", "old"),
    "wide": ("heavy", "old"),
    "big": ("heavy", "old"),
    "large": ("heavy", "old"),
    "heavy": ("tall", "old"),
    "old": ("tall", "heavy"),
    "hot": ("deep", "heavy"),
}
"""`How deep` and the like, and questions for another dimension."""

ASKED_FOR = {
    "height": ("weight", "age"),
    "depth": ("weight", "price"),
    "width": ("weight", "price"),
    "length": ("weight", "price"),
    "weight": ("height", "age"),
    "temperature": ("weight", "price"),
    "price": ("weight", "height"),
    "pH": ("density",),
    "moisture": ("sugar", "salt"),
}
"""`What height` and the like, and questions for another dimension."""

NUMBER_WORDS = numbering.UNDER_TWENTY[1:17]
ORDINALS = numbering.ORDINALS[1:14]
