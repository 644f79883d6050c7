"""LaTeX: the canonical text is the source, and its structure is the regions."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.source.latex import extract
from quoth.errors import UnreadableFile
from quoth.types import RegionKind as Kind

from .source_files import assert_lossless, blocks, leads, sections


def document(body: str) -> str:
    preamble = "\\documentclass{article}\n\\newcommand{\\x}{Words here.}\n"
    return f"{preamble}\\begin{{document}}\n{body}\n\\end{{document}}\nRest.\n"


def test_the_preamble_and_what_follows_the_document_are_left_out() -> None:
    text = document("Sow it at\n$2.5$ cm \\cite{ann}.\n\nThen \\emph{wait}.")

    assert blocks(extract, text) == [
        (Kind.PARAGRAPH, "Sow it at\n$2.5$ cm \\cite{ann}."),
        (Kind.PARAGRAPH, "Then \\emph{wait}."),
    ]


def test_a_chapter_without_a_preamble_is_read_whole() -> None:
    assert blocks(extract, "\\chapter{Sowing}\\label{c}\nSow it.\n") == [
        (Kind.HEADING, "Sowing"),
        (Kind.PARAGRAPH, "Sow it."),
    ]


def test_the_title_is_a_property() -> None:
    text = "\\title{Sowing \\textbf{Barley}\\thanks{To {all}.} in \\LaTeX}\n" + document("Sow.")

    assert dict(extract(text.encode()).properties) == {"title": "Sowing Barley in LaTeX"}
    assert dict(extract(document("Sow.").encode()).properties) == {}


def test_sections_nest() -> None:
    text = "\\part{P}\\chapter[s]{A~B}\\section*{Use of \\texttt{sow}\\footnote{No.}}"
    text += "\\paragraph{Deep.} Sow.\\section{C \\& D}"

    assert sections(extract, text) == [
        ("P",),
        ("P", "A B"),
        ("P", "A B", "Use of sow"),
        ("P", "A B", "Use of sow", "Deep."),
        ("P", "A B", "C & D"),
    ]


def test_comments_are_left_out_but_cut_no_sentence() -> None:
    text = "Sow it.\n% a comment\nNow sow % how\nthe rye at 5\\% more.\n%% last\n"

    assert [part for _, part in blocks(extract, text)] == ["Sow it.", "Now sow % how\nthe rye at 5\\% more."]


def test_lists_nest_and_keep_their_leads() -> None:
    text = (
        "Sow:\n\\begin{itemize}[noitemsep]\n\\item barley\n\\item rye:\n\\begin{enumerate}\n\\item winter\n"
        "\\item summer\n\\end{enumerate}\n\\item[Oats] last\n\\end{itemize}\nDone."
    )

    assert blocks(extract, text)[1:] == [
        *((Kind.LIST_ITEM, item) for item in ("barley", "rye:", "winter", "summer", "[Oats] last")),
        (Kind.PARAGRAPH, "Done."),
    ]
    assert leads(extract, text)["[Oats] last"] == "Sow:"
    assert leads(extract, text)["winter"].startswith("Sow:")


def test_equations_are_regions_of_their_own() -> None:
    text = (
        "It is\n\\begin{equation}\\label{e}\na = b^2\n\\end{equation}\nwhere\n\\[ c \\]\nand $$d$$ end with $x$ inside."
    )

    assert blocks(extract, text) == [
        (Kind.PARAGRAPH, "It is"),
        (Kind.CODE, "\\label{e}\na = b^2"),
        (Kind.PARAGRAPH, "where"),
        (Kind.CODE, "c"),
        (Kind.PARAGRAPH, "and"),
        (Kind.CODE, "d"),
        (Kind.PARAGRAPH, "end with $x$ inside."),
    ]


def test_a_figure_gives_its_caption() -> None:
    text = "\\begin{figure}[ht]\n\\centering\n\\includegraphics[width=2cm]{a.png}\n"
    text += "\\caption[Short]{The yield {\\em of} rye.}\n\\label{f}\n\\end{figure}"

    assert blocks(extract, text) == [(Kind.CAPTION, "The yield {\\em of} rye.")]


def test_a_row_is_introduced_by_the_header() -> None:
    text = (
        "\\begin{table}\\begin{tabular}{l|r}\\hline\nCrop & Depth \\\\ \\hline\n"
        "Rye & \\multicolumn{1}{c}{2 \\\\ cm} \\\\[2pt]\n"
        "Barley & 3 cm \\\\\n\\hline\\end{tabular}\\caption{Depths}\\end{table}"
    )

    assert blocks(extract, text) == [
        (Kind.TABLE_HEADER, "Crop & Depth"),
        (Kind.TABLE_ROW, "Rye & \\multicolumn{1}{c}{2 \\\\ cm}"),
        (Kind.TABLE_ROW, "Barley & 3 cm"),
        (Kind.CAPTION, "Depths"),
    ]
    assert leads(extract, text)["Barley & 3 cm"] == "Crop & Depth"


def test_a_table_without_a_rule_below_its_first_row_has_no_header() -> None:
    text = "\\begin{tabular}{ll}\nRye & 2 \\\\\nOats & 3 \\\\\n\\end{tabular}"

    assert blocks(extract, text) == [(Kind.TABLE_ROW, "Rye & 2"), (Kind.TABLE_ROW, "Oats & 3")]


def test_listings_quotes_and_references() -> None:
    text = (
        "\\begin{verbatim}\n% no comment \\section{x}\n\\end{verbatim}\n\\begin{quote}Sow.\\end{quote}\n"
        "\\begin{comment}Nothing.\\end{comment}\n"
        "\\begin{thebibliography}{9}\\bibitem[A]{a} Ann, 2020.\n\\bibitem{b} Bob.\n"
        "\\end{thebibliography}\nUse \\verb|\\begin{x} % y| here."
    )

    assert blocks(extract, text) == [
        (Kind.CODE, "% no comment \\section{x}"),
        (Kind.QUOTE, "Sow."),
        (Kind.FOOTNOTE, "Ann, 2020."),
        (Kind.FOOTNOTE, "Bob."),
        (Kind.PARAGRAPH, "Use \\verb|\\begin{x} % y| here."),
    ]


def test_the_title_of_a_slide_is_a_heading() -> None:
    text = "\\section{S}\\begin{frame}{One}\nSow.\n\\end{frame}\\begin{frame}\\frametitle{Two}\nReap.\\end{frame}"

    assert sections(extract, text) == [("S",), ("S", "One"), ("S", "Two")]


def test_line_ends_and_a_byte_order_mark_stay_as_they_are() -> None:
    text = "\ufeff\\section{A}\r\nSow\r\nit.\r\n\r\nReap.\r\n"

    assert blocks(extract, text) == [(Kind.HEADING, "A"), (Kind.PARAGRAPH, "Sow\r\nit."), (Kind.PARAGRAPH, "Reap.")]


def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(UnreadableFile, match="NUL"):
        extract(b"\\section{A}\x00")


@pytest.mark.parametrize(
    "text",
    [
        "\\begin{itemize}\\item x " * 3_000,
        "\\begin{a}" * 5_000 + "\\end{b}" * 5_000,
        "\\section{" * 5_000,
        "{" * 20_000,
        "a \\small b % c\n" * 5_000,
        "\\begin{verbatim}\\[ $$ " * 3_000,
        "\\begin{tabular}{l}" * 2_000 + "x \\\\ \\end{tabular}",
        "\\foo[" * 5_000,
    ],
)
def test_what_never_ends_is_survived(text: str) -> None:
    assert_lossless(extract, text)


PARTS = [
    *(
        "Sow it. ",
        "at 2.5 cm",
        "\n",
        "\n\n",
        " ",
        "% c\n",
        "\\%",
        "\\section{A}",
        "\\section{",
        "}",
        "{",
        "\\item ",
        "\\\\",
        " & ",
    ),
    *(
        "\\begin{itemize}",
        "\\end{itemize}",
        "\\begin{tabular}{l}",
        "\\end{tabular}",
        "\\hline ",
        "\\caption{C}",
        "\\[",
        "\\]",
        "$$",
    ),
    *(
        "\\begin{verbatim}",
        "\\end{verbatim}",
        "\\verb|x|",
        "\\label{l}",
        "\\bibitem{k}",
        "\\begin{document}",
        "\\end{document}",
    ),
    *(
        "\\newcommand{\\a}[1]{b}",
        "\\def\\q#1{r}",
        "\\begin{frame}{T}",
        "\\cite[2]{x}",
        "\\par ",
        "\r\n",
        "é",
        "\\title{T}",
        "\\",
    ),
]


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(PARTS), max_size=30))
def test_any_order_of_commands_is_covered(parts: list[str]) -> None:
    assert_lossless(extract, "".join(parts))
