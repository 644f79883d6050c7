"""What the commands and environments of LaTeX do to a text, by their names."""

from __future__ import annotations

import re

LEVELS = {
    **{"part": 1, "chapter": 2, "section": 3, "subsection": 4, "subsubsection": 5},
    **{"paragraph": 6, "subparagraph": 7},
}
"""The rank of the heading that a command begins."""

LISTS = frozenset(
    """itemize enumerate description compactitem compactenum compactdesc inparaenum list trivlist labeling
    tasks""".split()
)
QUOTES = frozenset({"quote", "quotation", "verse", "displayquote"})
MATH = frozenset(
    """equation align gather multline eqnarray displaymath math flalign alignat dmath dgroup IEEEeqnarray
    xalignat""".split()
)
CODE = frozenset(
    """verbatim Verbatim BVerbatim LVerbatim lstlisting minted alltt algorithmic algorithm2e semiverbatim sverbatim
    macrocode verbatimtab""".split()
)
GRAPHICS = frozenset("comment tikzpicture pgfpicture picture pspicture filecontents asy tikzcd forest".split())
"""Environments that draw or hide what is in them."""
TABLES = frozenset(
    "tabular tabularx tabulary longtable supertabular xtabular tabu longtabu tblr NiceTabular array".split()
)
RULES = re.compile(
    r"""\s*(?:%[^\r\n]*|\\(?:hline|toprule|midrule|bottomrule|endhead|endfirsthead|endfoot|endlastfoot|addlinespace
      |specialrule|cline|cmidrule|hhline|noalign|rowcolor|centering|small)(?![A-Za-z])
      (?:\([^()]{0,10}\))?(?:\[[^\[\]]{0,40}\])?(?:\{[^{}]{0,60}\})*)\s*""",
    re.VERBOSE,
)
"""A rule of a table, or another command between two of its rows."""

DEFINITIONS = frozenset(
    """newcommand renewcommand providecommand DeclareRobustCommand newenvironment renewenvironment newtheorem def edef
    gdef xdef let DeclareMathOperator newcounter newlength newif setlength addtolength setcounter addtocounter
    stepcounter refstepcounter""".split()
)
SILENT = frozenset(
    """label includegraphics input include includeonly bibliography bibliographystyle addbibresource printbibliography
    usepackage RequirePackage documentclass vspace hspace index title subtitle author date thanks institute affiliation
    hypersetup graphicspath addcontentsline markboth markright pagestyle thispagestyle pagenumbering theoremstyle lstset
    lstinputlisting inputminted nocite bibdata usetheme usecolortheme setbeamertemplate definecolor color fontsize
    selectfont rule raisebox scalebox resizebox ProvidesPackage ProvidesFile NeedsTeXFormat usetikzlibrary captionsetup
    geometry epsfig psfig epsfbox special write typeout message errmessage setkeys newfont hyphenation
    listfiles linespread enlargethispage subfile tikzset pgfplotsset AtBeginDocument AtEndDocument email address
    keywordsname shorttitle shortauthors ORCID orcid acmConference copyrightyear setcopyright ccsdesc
    received""".split()
)
"""Commands that print nothing, or nothing that reads as a sentence, with their arguments."""
SWITCHES = frozenset(
    """maketitle tableofcontents listoffigures listoftables newpage clearpage cleardoublepage pagebreak nopagebreak
    linebreak newline vfill hfill bigskip medskip smallskip noindent indent centering raggedright raggedleft flushleft
    tiny scriptsize footnotesize small normalsize large Large LARGE huge Huge bfseries itshape ttfamily sffamily
    rmfamily mdseries upshape scshape normalfont begingroup endgroup relax protect frontmatter mainmatter backmatter
    appendix makeindex printindex onehalfspacing doublespacing singlespacing sloppy fussy phantomsection titlepage
    maketitlepage onecolumn twocolumn hline makeatletter makeatother allowdisplaybreaks nopagenumbers bf it tt sl em rm
    sf sc bye
    columnbreak pause strut null ignorespaces leavevmode fi else""".split()
)
"""Commands without arguments that only change how the text is set."""

_COMMAND = re.compile(r"\\[A-Za-z@]+\*?\s*|[{}$]|\\(?=[&%#_{}$ ,;/-])")
_SPACES = re.compile(r"\\\\|~|\\[,;: ]|\s")
_NOTE = re.compile(r"\\(?:label|footnote|thanks|index|cite|protect\\footnote)\*?\{(?:[^{}]|\{[^{}]*\})*\}")
_LOGO = re.compile(r"\\((?:La|Bib|Xe|XeLa|pdf|pdfLa|Lua|LuaLa)?TeX)(?:e|XX)?(?![A-Za-z])(?:\{\}|\\)?")


def plain_title(source: str) -> str:
    """Return a title as people read it, without commands and braces."""
    bare = _LOGO.sub(r"\1", _NOTE.sub("", re.sub(r"(?<!\\)%[^\r\n]*", "", source)))
    spaced = _SPACES.sub(" ", bare)
    return " ".join(_COMMAND.sub("", spaced).split())
