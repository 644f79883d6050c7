"""Web pages that nest, grow, lie about themselves or ask for other files."""

from __future__ import annotations

from hostile_parts import SAID, Hostile, World, hostile

P = f"<p>{SAID}</p>"


def page(body: str, head: str = "") -> bytes:
    return f"<!DOCTYPE html><html><head><title>Barley</title>{head}</head><body>{body}</body></html>".encode()


def _remote(world: World) -> bytes:
    url, outside = world.url, world.outside.as_uri()
    head = (
        f'<base href="{url}/"><meta http-equiv="refresh" content="0;url={url}/refresh">'
        f'<link rel="stylesheet" href="{url}/a.css">'
        f'<link rel="preload" href="{url}/p" as="fetch"><link rel="dns-prefetch" '
        f'href="{url}"><script src="{url}/a.js"></script>'
        f"<style>@import url({url}/b.css); body {{ background: url({url}/b.png) }}</style>"
    )
    body = (
        f'<img src="{url}/a.png" srcset="{url}/b.png 2x"><iframe src="{url}/frame">'
        f'</iframe><iframe src="{outside}"></iframe>'
        f'<object data="{url}/o"><embed src="{url}/e"></object><video src="{url}/v" '
        f'poster="{url}/p"></video><svg><image href="{url}/s"/>'
        f'<use href="{url}/u#x"/></svg><link rel="import" href="{outside}"><xi:include '
        f'href="{outside}"/><form action="{url}"></form>'
    )
    return page(P + body, head)


def _xhtml(declared: str, used: str) -> bytes:
    return (
        f'<?xml version="1.0"?><!DOCTYPE html [{declared}]><html xmlns="http://www.w3.org/1999/xhtml">'
        f"<body><p>{used}</p>{P}</body></html>"
    ).encode()


def _laughs() -> str:
    return '<!ENTITY a0 "ha">' + "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 12))


def _deep(opened: str, closed: str, levels: int) -> str:
    """Elements in each other; on a small scale there are still more than Python's own calls may nest."""
    times = max(1_200, levels)
    return opened * times + closed * times + P


def _spans(attributes: str) -> str:
    cell = f"<td {attributes}>wide</td>"
    return f"<table><tr><th {attributes}>Yield</th>{cell}</tr><tr>{cell * 3}</tr><tr><td>{SAID}</td></tr></table>"


FILES: tuple[Hostile, ...] = (
    hostile(
        "html/truncated-in-a-tag.html", "taken", lambda _: page(P).removesuffix(b"></body></html>") + b"<p class='"
    ),
    hostile("html/truncated-in-a-comment.html", "taken", lambda _: page(f"{P}<!-- and so on {P}")),
    hostile("html/two-hundred-thousand-nested-div.html", "refused", lambda _: page("<div>" * 200_000 + P)),
    hostile("html/two-hundred-thousand-nested-span.html", "either", lambda w: page("<span>" * w.many(200_000) + P)),
    hostile("html/nested-unknown-elements.html", "either", lambda w: page("<x-y>" * w.many(200_000) + P)),
    hostile(
        "html/unclosed-everything.html",
        "either",
        lambda w: page((P + "<ul><li><b><i><a href=x><table><tr><td><select><option>") * w.many(2_000)),
    ),
    hostile(
        "html/misnested-formatting.html",
        "either",
        lambda w: page(("<a><b><p><i></b></a><table><a><tr><font>" + SAID) * w.many(3_000)),
    ),
    hostile(
        "html/million-attributes.html",
        "either",
        lambda w: page("<p " + " ".join(f"a{n}=x" for n in range(max(2_001, w.many(1_000_000)))) + f">{SAID}</p>"),
    ),
    hostile(
        "html/attribute-of-twenty-mb.html", "either", lambda w: page(f'<p class="{"x " * w.many(10 << 20)}">{SAID}</p>')
    ),
    hostile(
        "html/line-of-twenty-mb.html", "either", lambda w: page("<p>" + (SAID + " ") * (w.many(20 << 20) // len(SAID)))
    ),
    hostile("html/word-of-ten-mb.html", "either", lambda w: page("<p>" + "x" * w.many(10 << 20) + "</p>" + P)),
    hostile("html/paragraphs-by-the-hundred-thousand.html", "either", lambda w: page("<p>x</p>" * w.many(300_000) + P)),
    hostile("html/nul-bytes.html", "either", lambda _: page(f"<p>S\x00ow.</p><scr\x00ipt>alert(1)</scr\x00ipt>{P}")),
    hostile(
        "html/charset-utf-7.html",
        "either",
        lambda _: page("+ADw-script+AD4-alert(1)+ADw-/script+AD4-" + P, '<meta charset="utf-7">'),
    ),
    hostile("html/charset-utf-16-in-ascii.html", "taken", lambda _: page(P, '<meta charset="utf-16">')),
    hostile("html/charset-of-python.html", "taken", lambda _: page(P, '<meta charset="unicode_escape">')),
    hostile("html/charset-that-is-none.html", "taken", lambda _: page(P, f'<meta charset="{"x" * 5_000}">')),
    hostile("html/asks-for-other-files.html", "taken", _remote),
    hostile(
        "html/entities-galore.html",
        "taken",
        lambda w: page(
            "<p>" + "&amp;&CounterClockwiseContourIntegral;&notanentity;&#x1F33E;&" * w.many(50_000) + "</p>" + P
        ),
    ),
    hostile(
        "html/entities-that-are-no-characters.html",
        "either",
        lambda _: page("<p>A&#xD800;B&#xDFFF;C&#0;D&#x110000;E&#99999999999;F&#x80;G&#xFFFE;H&#-1;</p>" + P),
    ),
    hostile("html/cells-a-billion-wide.html", "taken", lambda _: page(_spans("colspan=1000000000") + P)),
    hostile("html/cells-a-billion-high.html", "taken", lambda _: page(_spans("rowspan=1000000000 colspan=-1") + P)),
    hostile(
        "html/cells-that-multiply.html",
        "either",
        lambda _: page(
            "<table>" + "<tr>" + "<td rowspan=60000 colspan=1000>x" * 200 + "<tr><td>x" * 2_000 + "</table>" + P
        ),
    ),
    hostile(
        "html/table-of-a-hundred-thousand-cells.html",
        "either",
        lambda w: page("<table>" + ("<tr>" + "<td>1</td>" * 300) * w.many(330) + "</table>" + P),
    ),
    hostile("html/nested-lists.html", "either", lambda w: page(_deep("<ul><li>x", "</ul>", w.many(4_000)))),
    hostile("html/nested-tables.html", "either", lambda w: page(_deep("<table><tr><td>x", "</table>", w.many(2_000)))),
    hostile("html/nested-quotes.html", "either", lambda w: page(_deep("<blockquote>x", "", w.many(4_000)))),
    hostile(
        "html/list-numbers-without-end.html",
        "taken",
        lambda _: page(
            f'<ol start="99999999999999999999" type="I"><li>{SAID}</li><li value="-99999999999">'
            f"x</li></ol><ol start=3999999 type=I><li>y</ol>"
        ),
    ),
    hostile("html/only-comments.html", "either", lambda _: b"<!-- x -->" * 5_000),
    hostile("html/only-a-script.html", "either", lambda _: page("<script>document.write('" + SAID + "')</script>")),
    hostile("html/open-brackets.html", "either", lambda w: page("<" * w.many(5 << 20) + P)),
    hostile("html/open-comments.html", "either", lambda w: page("<!--" * w.many(1 << 20) + P)),
    hostile(
        "html/open-cdata.xhtml",
        "either",
        lambda w: b'<?xml version="1.0"?><html>' + b"<![CDATA[" * w.many(500_000) + P.encode(),
    ),
    hostile(
        "html/self-closing-without-end.xhtml",
        "either",
        lambda w: b'<?xml version="1.0"?><html><body>' + b"<a /" * w.many(500_000) + P.encode(),
    ),
    hostile(
        "html/doctype-of-spaces.html",
        "either",
        lambda w: b"<!DOCTYPE " + b" " * w.many(5 << 20) + b"html><body>" + P.encode(),
    ),
    hostile(
        "html/math-and-svg-soup.html",
        "either",
        lambda w: page("<math><mi><svg><foreignObject><p><math><mfrac><mi>" * w.many(3_000) + P),
    ),
    hostile(
        "html/plaintext-and-noscript.html",
        "either",
        lambda _: page(f"<noscript>{P}</noscript><template>{P}</template><plaintext>{P}"),
    ),
    hostile("html/billion-laughs.xhtml", "either", lambda _: _xhtml(_laughs(), "&a11;")),
    hostile(
        "html/entity-of-a-file.xhtml", "either", lambda w: _xhtml(f'<!ENTITY a SYSTEM "{w.outside.as_uri()}">', "&a;")
    ),
    hostile(
        "html/ids-that-control-each-other.html",
        "either",
        lambda w: page(
            "".join(f'<div id="d{n}" hidden aria-controls="d{n + 1}">x</div>' for n in range(w.many(50_000))) + P
        ),
    ),
    hostile(
        "html/notes-that-point-in-circles.html",
        "either",
        lambda w: page(
            "".join(
                f'<p id="fn{n}">Note {n} <a href="#fn{n + 1}"><sup>{n + 1}</sup></a> <a href="#fnref{n}">^</a></p>'
                for n in range(w.many(20_000))
            )
            + P
        ),
    ),
)
