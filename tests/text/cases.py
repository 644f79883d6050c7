"""Texts with the sentences a careful reader would find in them, written before the splitter was run on them."""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    name: str
    text: str
    sentences: list[str]


PROSE: list[Case] = [
    # Decimals, ranges and units
    Case("decimal", "Sow at 2.5 cm. Roll after.", ["Sow at 2.5 cm.", "Roll after."]),
    Case("range of decimals", "Canola grows best at pH 6.0-7.0.", ["Canola grows best at pH 6.0-7.0."]),
    Case("range then sentence", "Keep pH at 6.0-7.0. Lime if lower.", ["Keep pH at 6.0-7.0.", "Lime if lower."]),
    Case("spaced en dash", "Wait 5 – 10 days. Then cut.", ["Wait 5 – 10 days.", "Then cut."]),
    Case("to range", "Use 1.5 to 2.5 kg/ha. More burns.", ["Use 1.5 to 2.5 kg/ha.", "More burns."]),
    Case("rate", "Apply 150 lbs N/acre. Split it.", ["Apply 150 lbs N/acre.", "Split it."]),
    Case("percent by mass", "It holds 3.2% by mass. That is low.", ["It holds 3.2% by mass.", "That is low."]),
    Case("thousands", "It cost $1,250.75. We paid.", ["It cost $1,250.75.", "We paid."]),
    Case("european decimal", "Es sind 2,5 cm. Das reicht.", ["Es sind 2,5 cm.", "Das reicht."]),
    Case("leading point", "The slope was .05. That is flat.", ["The slope was .05.", "That is flat."]),
    Case("degrees", "Heat to 25.5 °C. Stir.", ["Heat to 25.5 °C.", "Stir."]),
    Case("plus minus", "It was 3.1 ± 0.2 t. Yields fell.", ["It was 3.1 ± 0.2 t.", "Yields fell."]),
    Case("number last", "We counted 12. Then it rained.", ["We counted 12.", "Then it rained."]),
    Case("year last, number first", "It opened in 2010. 15 farms joined.", ["It opened in 2010.", "15 farms joined."]),
    Case("number after a bracket", "It failed (Lee 2004). 12 plots died.", ["It failed (Lee 2004).", "12 plots died."]),
    Case("ratio", "Mix 1:2.5 by volume. Shake.", ["Mix 1:2.5 by volume.", "Shake."]),
    Case("exponent", "Use 1.0e-5 M. It is enough.", ["Use 1.0e-5 M.", "It is enough."]),
    Case("inches with period", "Plant 2 in. deep and 6 in. apart.", ["Plant 2 in. deep and 6 in. apart."]),
    Case("feet at the end", "Rows are 3 ft. The field is 40 ac.", ["Rows are 3 ft.", "The field is 40 ac."]),
    Case("lbs before a symbol", "Use 100 lbs. N per acre.", ["Use 100 lbs. N per acre."]),
    Case("square unit", "Sow 80 plants/m². Thin later.", ["Sow 80 plants/m².", "Thin later."]),
    Case("p value", "It rose (P < 0.05). We stopped.", ["It rose (P < 0.05).", "We stopped."]),
    Case("section sign", "See § 8.3. It binds all.", ["See § 8.3.", "It binds all."]),
    Case("money range", "Fees run $1.50-$2.25. Pay early.", ["Fees run $1.50-$2.25.", "Pay early."]),
    # Dates and times
    Case("abbreviated month", "It began on Jan. 5, 2021. It ended.", ["It began on Jan. 5, 2021.", "It ended."]),
    Case("full date", "Signed May 18, 2009. Recorded later.", ["Signed May 18, 2009.", "Recorded later."]),
    Case("german ordinal", "Wir säen am 5. Mai 2021. Dann ruht es.", ["Wir säen am 5. Mai 2021.", "Dann ruht es."]),
    Case("dotted date", "Due 05.06.2021. Pay then.", ["Due 05.06.2021.", "Pay then."]),
    Case("a.m. inside", "Spray at 6 a.m. on calm days.", ["Spray at 6 a.m. on calm days."]),
    Case("a.m. last", "We met at 6 a.m. Then we left.", ["We met at 6 a.m.", "Then we left."]),
    Case("p.m. and zone", "Call by 5 p.m. Eastern time.", ["Call by 5 p.m. Eastern time."]),
    Case("p.m. before a name", "He came at 5 p.m. John was late.", ["He came at 5 p.m.", "John was late."]),
    Case("month last", "It froze in Dec. The crop died.", ["It froze in Dec.", "The crop died."]),
    # Abbreviations that go on
    Case("e.g.", "Use a legume, e.g. Clover, before wheat.", ["Use a legume, e.g. Clover, before wheat."]),
    Case("i.e.", "The host, i.e. Brassica, dies.", ["The host, i.e. Brassica, dies."]),
    Case("approx.", "It takes approx. 5 days. Wait.", ["It takes approx. 5 days.", "Wait."]),
    Case("Fig. 3", "Yields rose (Fig. 3). Costs fell.", ["Yields rose (Fig. 3).", "Costs fell."]),
    Case("Figs. and letters", "See Figs. S1 and S2. They agree.", ["See Figs. S1 and S2.", "They agree."]),
    Case("No. 2", "Grade No. 2 sells. Others do not.", ["Grade No. 2 sells.", "Others do not."]),
    Case(
        "No. with letters", "Kit (Cat. No. E7420) was used. It works.", ["Kit (Cat. No. E7420) was used.", "It works."]
    ),
    Case("no as an answer", "Is it wet? No. The pump failed.", ["Is it wet?", "No.", "The pump failed."]),
    Case("Sec. with clauses", "Under Sec. 4.2(b)(i). The Buyer pays.", ["Under Sec. 4.2(b)(i).", "The Buyer pays."]),
    Case("Art. roman", "As Art. IV says, it ends.", ["As Art. IV says, it ends."]),
    Case("vs.", "Yield of Alpha vs. Beta was equal.", ["Yield of Alpha vs. Beta was equal."]),
    Case(
        "v. in a case", "Smith v. Jones settled it. Costs followed.", ["Smith v. Jones settled it.", "Costs followed."]
    ),
    Case(
        "et al. and year", "Lee et al. (2010) found it. Others agree.", ["Lee et al. (2010) found it.", "Others agree."]
    ),
    Case("et al. last", "This follows Lee et al. The rest is new.", ["This follows Lee et al.", "The rest is new."]),
    Case("et al. and a name", "We thank Lee et al. Brown helped.", ["We thank Lee et al. Brown helped."]),
    Case("cf.", "The rate doubled (cf. Table 2). Good.", ["The rate doubled (cf. Table 2).", "Good."]),
    Case("Dr.", "Dr. Smith and Mrs. Jones left. They won.", ["Dr. Smith and Mrs. Jones left.", "They won."]),
    Case("Prof. initials", "Prof. J. R. Smith spoke. We heard.", ["Prof. J. R. Smith spoke.", "We heard."]),
    Case("middle initial", "Steven J. Hilton signed. It is done.", ["Steven J. Hilton signed.", "It is done."]),
    Case("genus", "Cells of E. coli grew. B. napus did not.", ["Cells of E. coli grew.", "B. napus did not."]),
    Case("spp.", "Fusarium spp. infect roots. Rotate.", ["Fusarium spp. infect roots.", "Rotate."]),
    Case(
        "subsp. and var.",
        "B. rapa subsp. oleifera var. annua is sown.",
        ["B. rapa subsp. oleifera var. annua is sown."],
    ),
    Case("min. and max.", "Keep min. 5 and max. 10 plants. Thin.", ["Keep min. 5 and max. 10 plants.", "Thin."]),
    Case("min last", "Stir for 30 min. Filter the rest.", ["Stir for 30 min.", "Filter the rest."]),
    Case("ca.", "It began ca. 1850. Few knew.", ["It began ca. 1850.", "Few knew."]),
    Case("temp.", "Keep temp. 20 or less. Vent.", ["Keep temp. 20 or less.", "Vent."]),
    Case("para.", "See para. 12 and Sect. 3. It applies.", ["See para. 12 and Sect. 3.", "It applies."]),
    Case("pp.", "Read pp. 12-15. They matter.", ["Read pp. 12-15.", "They matter."]),
    Case("Vol. and No.", "J. Agron. Vol. 3, No. 2 is out.", ["J. Agron. Vol. 3, No. 2 is out."]),
    Case("St. Louis", "It ships from St. Louis to Troy. Go.", ["It ships from St. Louis to Troy.", "Go."]),
    # Abbreviations that end a sentence
    Case("U.S. last", "It grows in the U.S. The farm is old.", ["It grows in the U.S.", "The farm is old."]),
    Case("U.S. inside", "The U.S. Department of Energy pays.", ["The U.S. Department of Energy pays."]),
    Case("May is whole", "Seed by 15 May. Canola sprouts.", ["Seed by 15 May.", "Canola sprouts."]),
    Case("short places", "It grew in Iowa. Farmers sold it.", ["It grew in Iowa.", "Farmers sold it."]),
    Case("Inc. inside", "Acme Inc. Holdings owns it.", ["Acme Inc. Holdings owns it."]),
    Case("Inc. last", "We hired Acme Inc. They left.", ["We hired Acme Inc.", "They left."]),
    Case("Co., Ltd.", "SPI Energy Co., Ltd. shall pay. It will.", ["SPI Energy Co., Ltd. shall pay.", "It will."]),
    Case("etc. last", "Sow peas, beans, etc. Farmers like them.", ["Sow peas, beans, etc.", "Farmers like them."]),
    Case("etc. inside", "Peas, beans, etc. fix nitrogen.", ["Peas, beans, etc. fix nitrogen."]),
    Case("Jr.", "John Smith Jr. Farms is sold.", ["John Smith Jr. Farms is sold."]),
    Case("Ph.D.", "She holds a Ph.D. The topic was soil.", ["She holds a Ph.D.", "The topic was soil."]),
    Case(
        "vitamin letter",
        "Leaves hold vitamin C. The fruit does not.",
        ["Leaves hold vitamin C.", "The fruit does not."],
    ),
    Case("short words end", "Grain rests in a bin. Storage costs.", ["Grain rests in a bin.", "Storage costs."]),
    Case("acronym last", "It was filed with the FDA. Approval came.", ["It was filed with the FDA.", "Approval came."]),
    Case("degrees in two parts", "It reached 35° C. Crops wilted.", ["It reached 35° C.", "Crops wilted."]),
    Case("greek letter opens", "It was cut. α-tubulin was not.", ["It was cut.", "α-tubulin was not."]),
    Case("No. opens", "Use the best wire. No. 9 is thin.", ["Use the best wire.", "No. 9 is thin."]),
    Case("pound before an order", "Weigh 2 lb. Add water.", ["Weigh 2 lb.", "Add water."]),
    Case(
        "state abbreviation",
        "He lives in St. Paul, Minn. She does not.",
        ["He lives in St. Paul, Minn.", "She does not."],
    ),
    # URLs, files, versions
    Case("url", "See https://a.example/x.y?z=1.2. It helps.", ["See https://a.example/x.y?z=1.2.", "It helps."]),
    Case("www", "Go to www.example.com. Sign in.", ["Go to www.example.com.", "Sign in."]),
    Case("e-mail", "Write to j.doe@example.co.uk. We answer.", ["Write to j.doe@example.co.uk.", "We answer."]),
    Case("file name", "Open corpus.yaml and README.md. Edit them.", ["Open corpus.yaml and README.md.", "Edit them."]),
    Case("version", "Use v1.2.3 or later. Older ones fail.", ["Use v1.2.3 or later.", "Older ones fail."]),
    Case("ip address", "Ping 10.0.0.1. Wait.", ["Ping 10.0.0.1.", "Wait."]),
    Case("brand", "Built on Node.js and ASP.NET today.", ["Built on Node.js and ASP.NET today."]),
    # Ellipsis
    Case("ellipsis goes on", "Wait... and see.", ["Wait... and see."]),
    Case("ellipsis ends", "We waited... The rain came.", ["We waited...", "The rain came."]),
    Case("ellipsis sign", "It grew… slowly.", ["It grew… slowly."]),
    Case("spaced ellipsis", "The lot . . . is sold. Move.", ["The lot . . . is sold.", "Move."]),
    Case("dot leaders", "Interest ............ 12", ["Interest ............ 12"]),
    # Questions and exclamations
    Case("question", "Is it dry? Water it! Now.", ["Is it dry?", "Water it!", "Now."]),
    Case("doubled marks", "Really?! Yes.", ["Really?!", "Yes."]),
    Case("brand with mark", "We bought Yahoo! Inc. shares.", ["We bought Yahoo! Inc. shares."]),
    Case("reported question", "\u201cWhy?\u201d John asked. We knew.", ["\u201cWhy?\u201d John asked.", "We knew."]),
    Case("reported lower case", '"Stop!" he said. We did.', ['"Stop!" he said.', "We did."]),
    # Quotations and parentheses
    Case("quote closes after", 'He said "It is dry." She left.', ['He said "It is dry."', "She left."]),
    Case("curly quote closes", "He said “It is dry.” She left.", ["He said “It is dry.”", "She left."]),
    Case("quote goes on", "“It is dry. We wait,” he said. Good.", ["“It is dry. We wait,” he said.", "Good."]),
    Case("straight quote goes on", '"It is dry. We wait," he said. Go.', ['"It is dry. We wait," he said.', "Go."]),
    Case(
        "guillemets", "Il dit « Il pleut. Partons. » Puis il part.", ["Il dit « Il pleut. Partons. »", "Puis il part."]
    ),
    Case(
        "parenthesis goes on", "It fell (see Fig. 2. It is clear) again.", ["It fell (see Fig. 2. It is clear) again."]
    ),
    Case(
        "whole parenthesis",
        "It fell. (It rose later.) Then it fell.",
        ["It fell.", "(It rose later.)", "Then it fell."],
    ),
    Case("two in a parenthesis", "It fell. (It rose. It fell.) End.", ["It fell.", "(It rose. It fell.)", "End."]),
    Case("bracket", "He saw [the cow. The calf] there.", ["He saw [the cow. The calf] there."]),
    Case("lone parenthesis", "It was (odd. It stayed. It went.", ["It was (odd.", "It stayed.", "It went."]),
    Case("defined term", 'Acme Inc. ("Acme") and Bob ("B.") agree.', ['Acme Inc. ("Acme") and Bob ("B.") agree.']),
    # Footnote marks and missing spaces
    Case("bracketed note", "Lime raises yield.[3] The rest follows.", ["Lime raises yield.[3]", "The rest follows."]),
    Case("two notes", "It works.[3][12] We know.", ["It works.[3][12]", "We know."]),
    Case("bare note", "Lime raises yield.12 The rest follows.", ["Lime raises yield.12", "The rest follows."]),
    Case("superscript note", "Lime raises yield.³ The rest follows.", ["Lime raises yield.³", "The rest follows."]),
    Case("not a note", "See Fig.12 The end.", ["See Fig.12 The end."]),
    Case("missing space", "Lime the soil.The crop gains.", ["Lime the soil.", "The crop gains."]),
    Case("missing space, unsure", "Ask Acme.Brown knows.", ["Ask Acme.Brown knows."]),
    Case("citation before the period", "It grew [3]. It fell [4, 5].", ["It grew [3].", "It fell [4, 5]."]),
    Case("citation behind the period", "It grew. [3, 5] It fell. [7].", ["It grew. [3, 5]", "It fell. [7]."]),
    Case("figure behind the period", "It grew. (Figure 4). It fell.", ["It grew. (Figure 4).", "It fell."]),
    # Enumerators inside a line
    Case("number opens", "1. Plant the seed.", ["1. Plant the seed."]),
    Case("level opens", "1.4. The Seller pays. It is due.", ["1.4. The Seller pays.", "It is due."]),
    Case("letter opens", "A. The Company sells. It buys.", ["A. The Company sells.", "It buys."]),
    Case("roman opens", "IV. The Term is one year.", ["IV. The Term is one year."]),
    Case("numbers in a line", "Do this: 1. Plant. 2. Water it.", ["Do this: 1. Plant.", "2. Water it."]),
    Case("clause after spaces", "It ends.     1.5. The Buyer pays.", ["It ends.", "1.5. The Buyer pays."]),
    Case("heading and text", "1.2 License. The Company grants it.", ["1.2 License.", "The Company grants it."]),
    Case("section number", "Section 7.3. The Owner shall pay.", ["Section 7.3. The Owner shall pay."]),
    Case(
        "semicolons stay",
        "It may (a) sell; (b) lease; or (c) keep it.",
        ["It may (a) sell; (b) lease; or (c) keep it."],
    ),
    # Case and scripts
    Case("lower-case start", "It ended. and so it goes.", ["It ended. and so it goes."]),
    Case("pH opens", "Test it. pH matters.", ["Test it.", "pH matters."]),
    Case("accented capital", "Il pleut. Évitez le labour.", ["Il pleut.", "Évitez le labour."]),
    Case("turkish", "Toprak nemli. İlk ekim ertelendi.", ["Toprak nemli.", "İlk ekim ertelendi."]),
    Case("cyrillic", "Почва сухая. Полейте её.", ["Почва сухая.", "Полейте её."]),
    Case("chinese", "土壤很干。请浇水！可以吗？好。", ["土壤很干。", "请浇水！", "可以吗？", "好。"]),
    Case("japanese quote", "彼は「乾く。待て。」と言った。次へ。", ["彼は「乾く。待て。」と言った。", "次へ。"]),
    Case("arabic question", "هل الأرض جافة؟ نعم.", ["هل الأرض جافة؟", "نعم."]),
    Case("hindi", "मिट्टी सूखी है। पानी दो।", ["मिट्टी सूखी है।", "पानी दो।"]),
    Case("spanish", "¿Está seco? ¡Riegue! Gracias.", ["¿Está seco?", "¡Riegue!", "Gracias."]),
    Case("emoji", "It works 👍. 🌾 Wheat grows.", ["It works 👍.", "🌾 Wheat grows."]),
    Case("emoji family", "We farm 👩‍🌾. It pays.", ["We farm 👩‍🌾.", "It pays."]),
    Case(
        "combining marks", "Cafe\u0301 is open. E\u0301tude follows.", ["Cafe\u0301 is open.", "E\u0301tude follows."]
    ),
    Case("zero width", "It\u200b is dry.\u00a0 Water\u200b it.", ["It\u200b is dry.", "Water\u200b it."]),
    Case("no-break space", "Sow 5\u00a0cm deep.\u00a0Roll.", ["Sow 5\u00a0cm deep.", "Roll."]),
    Case("all capitals", "THIS IS IT. NO MORE.", ["THIS IS IT.", "NO MORE."]),
]
"""One paragraph each; the same in Markdown and in plain text."""

PLAIN: list[Case] = [
    Case("blank line", "First line\n\nSecond line", ["First line", "Second line"]),
    Case(
        "soft wrap in lower case",
        "The soil is dry and\nneeds water. Now.",
        ["The soil is dry and\nneeds water.", "Now."],
    ),
    Case(
        "soft wrap by width",
        "The tenant shall keep the field in good order and shall deliver to\n"
        "Smith Farms all of the grain that was grown on the northern part of\n"
        "Oak Field in that year.\n",
        [
            "The tenant shall keep the field in good order and shall deliver to\n"
            "Smith Farms all of the grain that was grown on the northern part of\n"
            "Oak Field in that year."
        ],
    ),
    Case(
        "address",
        "60 Merluna Road\nPark Ridge South\nQueensland",
        ["60 Merluna Road", "Park Ridge South", "Queensland"],
    ),
    Case(
        "title then text",
        "LEASE AGREEMENT\nThis lease is made today.",
        ["LEASE AGREEMENT", "This lease is made today."],
    ),
    Case(
        "numbered clauses",
        "1. Rent is due monthly.\n2. Repairs are the tenant's.\n",
        ["1. Rent is due monthly.", "2. Repairs are the tenant's."],
    ),
    Case(
        "lettered clauses",
        "The tenant shall:\n(a) pay rent;\n(b) keep the field; and\n(c) leave on time.",
        ["The tenant shall:", "(a) pay rent;", "(b) keep the field; and", "(c) leave on time."],
    ),
    Case("clause heading", "1.02 Interpretation\nWords mean things.", ["1.02 Interpretation", "Words mean things."]),
    Case(
        "article heading",
        "ARTICLE 1 - TERMS\n1.01 Rent\nRent is due.",
        ["ARTICLE 1 - TERMS", "1.01 Rent", "Rent is due."],
    ),
    Case("bullets", "Bring:\n- a spade\n- a rake", ["Bring:", "- a spade", "- a rake"]),
    Case("round bullets", "Bring:\n• a spade\n• a rake", ["Bring:", "• a spade", "• a rake"]),
    Case("hanging item", "- cleaned on day\n  1 and 15;\n- no work.", ["- cleaned on day\n  1 and 15;", "- no work."]),
    Case("crlf", "It is dry.\r\nWater it.\r\n\r\nEnd.", ["It is dry.", "Water it.", "End."]),
    Case("crlf wrap", "The soil is dry and\r\nneeds water.", ["The soil is dry and\r\nneeds water."]),
    Case("cr only", "First part\r\rSecond part", ["First part", "Second part"]),
    Case("bom", "\ufeffIt is dry. Water it.", ["It is dry.", "Water it."]),
    Case("form feed", "It is dry.\f\nWater it.", ["It is dry.", "Water it."]),
    Case("runs of spaces", "The   Buyer    pays.   The Seller ships.", ["The   Buyer    pays.", "The Seller ships."]),
    Case("page number", "It is dry.\n\n3\n\nWater it.", ["It is dry.", "3", "Water it."]),
    Case(
        "sentence over a page",
        "Except as is otherwise set out in this Agreement, in no\n\n- 3 -\n\nevent will the Agent be liable.",
        ["Except as is otherwise set out in this Agreement, in no\n\n- 3 -\n\nevent will the Agent be liable."],
    ),
    Case(
        "number wrapped",
        "As is said in Section\n4.2 of the lease, it ends.",
        ["As is said in Section\n4.2 of the lease, it ends."],
    ),
    Case("rule", "Before.\n----------\nAfter.", ["Before.", "After."]),
    Case("front matter is text", "---\ntitle: x\n---\nBody.", ["title: x", "Body."]),
    Case("hash is text", "# Not a heading. Just text.", ["# Not a heading.", "Just text."]),
    Case("line separator", "One thing\u2028\u2028Another thing", ["One thing", "Another thing"]),
    Case("nul", "It is\x00dry. Water it.", ["It is\x00dry.", "Water it."]),
    Case("empty", "", []),
    Case("blank", " \r\n\t\n", []),
]

MARKDOWN: list[Case] = [
    Case("atx heading", "# Soil pH\n\nLime it.", ["Soil pH", "Lime it."]),
    Case("closed atx heading", "## Soil pH ##\nLime it.", ["Soil pH", "Lime it."]),
    Case("setext heading", "Soil pH\n=======\nLime it.", ["Soil pH", "Lime it."]),
    Case("heading is one", "# Why lime? What for.", ["Why lime? What for."]),
    Case("front matter", "---\ntitle: A. B.\n---\nBody.", ["Body."]),
    Case("front matter, dots", "---\ntitle: A\n...\nBody.", ["Body."]),
    Case("bom and front matter", "\ufeff---\ntitle: A\n---\n\nBody.", ["Body."]),
    Case("bom and heading", "\ufeff# Title\n\nBody.", ["Title", "Body."]),
    Case("front matter only first", "Body.\n\n---\n\ntitle: A\n\n---\n", ["Body.", "title: A"]),
    Case("soft wrap", "The soil is\nDry. Water\nit.", ["The soil is\nDry.", "Water\nit."]),
    Case("hard break", "Tamarind Hollow  \nForm 1", ["Tamarind Hollow", "Form 1"]),
    Case("bullet list", "Bring:\n\n- a spade\n- a rake", ["Bring:", "a spade", "a rake"]),
    Case("ordered list", "1. Plant it. Wait.\n2. Water it.", ["Plant it.", "Wait.", "Water it."]),
    Case("wrapped item", "- a blackleg rating\n  of R\n- lime", ["a blackleg rating\n  of R", "lime"]),
    Case("lazy item", "- a blackleg rating\nof R", ["a blackleg rating\nof R"]),
    Case("item paragraphs", "- First.\n\n  Second.\n- Third.", ["First.", "Second.", "Third."]),
    Case("nested list", "- Crops:\n  - wheat\n  - rye\n- Tools", ["Crops:", "wheat", "rye", "Tools"]),
    Case("task list", "- [ ] Fence\n- [x] Paint", ["[ ] Fence", "[x] Paint"]),
    Case(
        "table",
        "| Item | Target |\n|---|---|\n| Soil pH | 6.0-7.0 |\n| Depth | 2.5 cm |",
        ["Item | Target", "Soil pH | 6.0-7.0", "Depth | 2.5 cm"],
    ),
    Case("table without outer pipes", "a | b\n--|--\nx. Y | 2. Z", ["a | b", "x. Y | 2. Z"]),
    Case("escaped pipe", "| a | b |\n|---|---|\n| x \\| y | z |", ["a | b", "x \\| y | z"]),
    Case("escaped pipe last", "| a | b |\n|---|---|\n| x | z \\| |", ["a | b", "x | z \\|"]),
    Case("pipe in code", "| a | b |\n|---|---|\n| `x|y` | z |", ["a | b", "`x|y` | z"]),
    Case("sentences in a cell", "| a | b |\n|---|---|\n| One. Two. | c |", ["a | b", "One. Two. | c"]),
    Case("empty cells", "| a | b |\n|---|---|\n| x | |\n| | |", ["a | b", "x"]),
    Case("table in a quote", "> | a | b |\n> |---|---|\n> | 1 | 2 |", ["a | b", "1 | 2"]),
    Case("fence", "```py\nx = 1.\nY = 2\n\nz = 3\n```\nText.", ["x = 1.\nY = 2", "z = 3", "Text."]),
    Case("open fence", "~~~\nx = 1", ["x = 1"]),
    Case("indented code", "Text.\n\n    x = 1\n\n    y = 2", ["Text.", "x = 1", "y = 2"]),
    Case("fence in an item", "- Run:\n  ```\n  make\n  ```\n- Stop", ["Run:", "make", "Stop"]),
    Case("quote", "> It is dry. Water it.", ["It is dry.", "Water it."]),
    Case("quote over lines", "> It is\n> dry. Water\n> it.", ["It is\n> dry.", "Water\n> it."]),
    Case("quote cut at a line", "> It is dry.\n> Water it.", ["It is dry.", "Water it."]),
    Case("nested quote", "> a\n> > b", ["a", "b"]),
    Case("alert", "> [!NOTE]\n> Mind the pH.", ["Mind the pH."]),
    Case("html comment", "<!-- TODO. Fix. -->\n\nText.", ["Text."]),
    Case("html block", "<div>\n<p>It is <b>dry</b>. Water it.</p>\n</div>", ["It is <b>dry</b>.", "Water it."]),
    Case("script", "<script>\nvar a = 1. B;\n</script>\n\nText.", ["Text."]),
    Case("inline html", "It is <b>dry.</b> Water it.", ["It is <b>dry.</b>", "Water it."]),
    Case(
        "footnote",
        "Yield rose.[^1] It fell.\n\n[^1]: Lee 2004. See it.",
        ["Yield rose.[^1]", "It fell.", "Lee 2004.", "See it."],
    ),
    Case("two footnotes", "[^1]: First note.\n[^b]: Second note.", ["First note.", "Second note."]),
    Case("one-word footnote", "[^1]: Smith\n\nText.", ["Smith", "Text."]),
    Case("footnote goes on", "[^1]: First.\n\n    More of it.", ["First.", "More of it."]),
    Case("link definition", "[a]: https://x.example 'Title. Two.'\n\nText.", ["Text."]),
    Case("link", "See [the guide. Part two](a.md). It helps.", ["See [the guide. Part two](a.md).", "It helps."]),
    Case(
        "link last", "Read [it](https://x.example/a.b). Then act.", ["Read [it](https://x.example/a.b).", "Then act."]
    ),
    Case("bold sentence", "**It is dry.** Water it.", ["**It is dry.**", "Water it."]),
    Case("italic label", "*Note.* Water it. *Now.*", ["*Note.*", "Water it.", "*Now.*"]),
    Case("code span", "Run `a. B` now. Stop.", ["Run `a. B` now.", "Stop."]),
    Case("image", "![A plot. North](p.png) It grew.", ["![A plot. North](p.png) It grew."]),
    Case("thematic break", "One.\n\n---\n\nTwo.\n\n* * *", ["One.", "Two."]),
    Case("crlf list", "- one\r\n- two\r\n\r\nText.\r\n", ["one", "two", "Text."]),
    Case("crlf table", "| a | b |\r\n|---|---|\r\n| 1 | 2 |\r\n", ["a | b", "1 | 2"]),
    Case("cr paragraphs", "One.\r\rTwo.", ["One.", "Two."]),
    Case("lettered paragraphs", "They may:\n\n(a) sell;\n\n(b) lease.", ["They may:", "(a) sell;", "(b) lease."]),
    Case("lettered lines", "They may:\n(a) sell;\n(b) lease.", ["They may:", "(a) sell;", "(b) lease."]),
    Case("number is no list", "It has\n2.5 cm of rain.", ["It has\n2.5 cm of rain."]),
    Case("emoji heading", "# 🌾 Wheat\n\nIt grows 👍.", ["🌾 Wheat", "It grows 👍."]),
    Case("nul", "# a\x00b\n\nText.", ["a\x00b", "Text."]),
]
