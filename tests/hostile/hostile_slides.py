"""Presentations that lie, grow, nest or point elsewhere."""

from __future__ import annotations

from hostile_docx import HEAD, TYPES, archive, relation, relations
from hostile_parts import SAID, Hostile, World, hostile

_SPACES = (
    'xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" '
    f'xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="{TYPES}" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006"'
)
TITLE = (
    '<p:sp><p:nvSpPr><p:nvPr><p:ph type="title"/></p:nvPr></p:nvSpPr>'
    "<p:txBody><a:p><a:r><a:t>Sowing</a:t></a:r></a:p></p:txBody></p:sp>"
)
BOX = f"<p:sp><p:txBody><a:p><a:r><a:t>{SAID}</a:t></a:r></a:p></p:txBody></p:sp>"


def part(root: str, content: str, head: str = "") -> str:
    return f"{HEAD}{head}<p:{root} {_SPACES}>{content}</p:{root}>"


def parts(shapes: str, *, slides: int = 1, head: str = "", notes: str = "") -> dict[str, str | bytes]:
    """The parts of a presentation that shows one slide, so many times."""
    shown = "".join(f'<p:sldId id="{256 + place}" r:id="rslide"/>' for place in range(slides))
    slide = f"<p:cSld><p:spTree>{shapes}</p:spTree></p:cSld>"
    return {
        "_rels/.rels": relations(relation("officeDocument", "ppt/presentation.xml")),
        "ppt/presentation.xml": part("presentation", f"<p:sldIdLst>{shown}</p:sldIdLst><p:sldSz cx='9' cy='-9'/>"),
        "ppt/_rels/presentation.xml.rels": relations(relation("slide", "slide.xml")),
        "ppt/slide.xml": part("sld", slide, head),
        "ppt/_rels/slide.xml.rels": relations(relation("notesSlide", "notes.xml")),
        "ppt/notes.xml": part("notes", f"<p:cSld><p:spTree>{notes}</p:spTree></p:cSld>"),
    }


def deck(shapes: str, *, slides: int = 1, head: str = "", notes: str = "") -> bytes:
    return archive(parts(shapes, slides=slides, head=head, notes=notes))


def _layouts_in_a_circle(world: World) -> bytes:
    made = parts(TITLE + BOX)
    made["ppt/_rels/slide.xml.rels"] = relations(
        relation("slideLayout", "slide.xml"),
        relation("slideMaster", "slide.xml"),
        relation("notesSlide", f"{world.url}/notes.xml", external=True),
        relation("diagramData", f"../../..{world.outside}"),
    )
    return archive(made)


def _laughs() -> str:
    return (
        '<!DOCTYPE d [<!ENTITY a0 "ha">'
        + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))
        + "]>"
    )


_NESTED = "<mc:AlternateContent><mc:Choice>" * 60 + BOX + "</mc:Choice></mc:AlternateContent>" * 60

FILES: tuple[Hostile, ...] = (
    hostile("slides/truncated.pptx", "refused", lambda _: deck(TITLE)[:-80]),
    hostile("slides/billion-laughs.pptx", "refused", lambda _: deck(TITLE + BOX, head=_laughs())),
    hostile("slides/zip-bomb-in-a-slide.pptx", "refused", lambda w: deck(" " * max(20 << 20, w.many(200 << 20)))),
    hostile("slides/zip-bomb-in-the-notes.pptx", "refused", lambda _: deck(TITLE, notes=" " * (20 << 20))),
    hostile("slides/one-slide-a-million-times.pptx", "taken", lambda w: deck(BOX, slides=w.many(1_000_000))),
    hostile("slides/a-hundred-thousand-boxes.pptx", "taken", lambda w: deck(TITLE + BOX * w.many(100_000))),
    hostile("slides/deep-groups.pptx", "refused", lambda _: deck("<p:grpSp>" * 9_000 + "</p:grpSp>" * 9_000)),
    hostile("slides/deep-alternatives.pptx", "taken", lambda _: deck(_NESTED)),
    hostile("slides/layouts-in-a-circle.pptx", "taken", _layouts_in_a_circle),
    hostile("slides/is-really-text.pptx", "refused", lambda _: SAID.encode()),
)
