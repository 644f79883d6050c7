"""PDF files that lie, loop, nest or grow."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence

from hostile_parts import SAID, Hostile, World, hostile

FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
SHOWN = f"BT /F 12 Tf 72 700 Td ({SAID}) Tj ET".encode()
CATALOG, PAGES, PAGE, CONTENT, FIRST_FREE = 1, 2, 3, 4, 6


def pdf(bodies: Sequence[bytes], *, trailer: bytes = b"", start: int | None = None) -> bytes:
    """A file of these objects, numbered from 1, the first being the catalog; `start` is where the table is said to
    be."""
    out = bytearray(b"%PDF-1.7\n")
    places = []
    for number, body in enumerate(bodies, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%b\nendobj\n" % (number, body)
    table = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(bodies) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    out += b"trailer\n<< /Size %d /Root 1 0 R %b >>\n" % (len(bodies) + 1, trailer)
    return bytes(out + b"startxref\n%d\n%%%%EOF\n" % (table if start is None else start))


def stream(data: bytes, entries: bytes = b"", *, packed: bool = False) -> bytes:
    if packed:
        data, entries = zlib.compress(data, 9), entries + b" /Filter /FlateDecode"
    return b"<< %b /Length %d >>\nstream\n%b\nendstream" % (entries, len(data), data)


def one_page(
    content: bytes = SHOWN,
    *,
    font: bytes = FONT,
    catalog: bytes = b"",
    page: bytes = b"",
    box: bytes = b"[0 0 612 792]",
    resources: bytes = b"",
    more: Sequence[bytes] = (),
    packed: bool = False,
    trailer: bytes = b"",
) -> bytes:
    """A file with one page; `more` are the objects from number 6 on."""
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R %b >>" % catalog,
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox %b /Contents 4 0 R /Resources << /Font << /F 5 0 R >> %b >> %b >>"
            % (box, resources, page),
            stream(content, packed=packed),
            font,
            *more,
        ],
        trailer=trailer,
    )


def _page_tree(kids: bytes, count: int, more: Sequence[bytes] = ()) -> bytes:
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [%b] /Count %d >>" % (kids, count),
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R "
            b"/Resources << /Font << /F 5 0 R >> >> >>",
            stream(SHOWN),
            FONT,
            *more,
        ]
    )


def _shared_pages(_world: World) -> bytes:
    """Five levels of ten times the same child: a hundred thousand pages in two kilobytes."""
    levels = [
        b"<< /Type /Pages /Parent %d 0 R /Kids [%b] /Count %d >>"
        % (
            2 if depth == 0 else depth + 5,
            b" ".join([b"%d 0 R" % (depth + 7 if depth < 3 else 3)] * 10),
            10 ** (4 - depth),
        )
        for depth in range(4)
    ]
    return _page_tree(b" ".join([b"6 0 R"] * 10), 100_000, levels)


def _map(pairs: str) -> bytes:
    """A font whose letters mean what `pairs` (`<53> <D800>`) say."""
    table = (
        "/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /M def /CMapType 2 def "
        "1 begincodespacerange <00> <FF> endcodespacerange "
        f"{pairs.count('> <')} beginbfchar {pairs} endbfchar endcmap end end"
    )
    font = b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding /ToUnicode 6 0 R >>"
    return one_page(font=font, more=[stream(table.encode())])


def _content(make: Callable[[World], bytes], *, packed: bool = False) -> Callable[[World], bytes]:
    return lambda world: one_page(make(world), packed=packed)


def _scattered(world: World) -> bytes:
    """Single letters all over the page, in an order of their own."""
    places = ((number * 7919 % 60_000) for number in range(world.many(100_000)))
    words = b"\n".join(b"1 0 0 1 %d.%02d %d Tm (x) Tj" % (50 + at % 500, at % 100, 50 + at // 90) for at in places)
    return b"BT /F 4 Tf " + words + b" ET"


def _grid(world: World) -> bytes:
    """A table of very many ruled cells with a number in each."""
    rows = world.many(600)
    ruled = b"".join(
        b"50 %d.%d m 550 %d.%d l S\n" % (y // 10, y % 10, y // 10, y % 10) for y in range(500, 500 + rows * 12, 12)
    )
    texts = b"".join(
        b"1 0 0 1 %d %d.%d Tm (%d) Tj\n"
        % (50 + 10 * column, (502 + 12 * row) // 10, (502 + 12 * row) % 10, row * column)
        for row in range(rows)
        for column in range(50)
    )
    return ruled + b"BT /F 1 Tf " + texts + b"ET"


def _actions(world: World) -> bytes:
    url = world.url.encode()
    return one_page(
        catalog=b"/OpenAction 6 0 R /AA << /WC 7 0 R >> /URI << /Base (%b) >>" % url,
        page=b"/Annots [<< /Type /Annot /Subtype /Link /Rect [0 0 612 792] /A 8 0 R >>] /AA << /O 6 0 R >>",
        more=[
            b"<< /S /JavaScript /JS (this.getURL\\('%b/js'\\); app.launchURL\\('%b/js'\\)) >>" % (url, url),
            b"<< /S /Launch /F (/bin/sh) /Win << /F (cmd.exe) /P (/c calc) >> >>",
            b"<< /S /URI /URI (%b/uri) /Next << /S /SubmitForm /F (%b/form) >> >>" % (url, url),
        ],
    )


def _outside(world: World) -> bytes:
    """Its content is said to be in another file, and in one on the net."""
    there = b"/F << /Type /Filespec /FS /URL /F (%b/stream) >>" % world.url.encode()
    here = b"/F (%b)" % str(world.outside).encode()
    return pdf(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents [4 0 R 6 0 R 7 0 R] "
            b"/Resources << /Font << /F 5 0 R >> /XObject << /X 8 0 R >> >> >>",
            stream(SHOWN + b" /X Do"),
            FONT,
            stream(b"", there),
            stream(b"", here),
            b"<< /Type /XObject /Subtype /Form /BBox [0 0 9 9] /Ref << %b /Page 0 >> /Length 0 >>\nstream\n\nendstream"
            % here,
        ]
    )


def _embedded(_world: World) -> bytes:
    inner = stream(one_page(), b"/Type /EmbeddedFile /Subtype /application#2Fpdf", packed=True)
    return one_page(
        catalog=(
            b"/Names << /EmbeddedFiles << /Names [(a.pdf) << /Type /Filespec /F (../../a.pdf) "
            b"/EF << /F 6 0 R >> >>] >> >>"
        ),
        more=[inner],
    )


def _picture(wide: int, high: int, data: bytes, entries: bytes) -> bytes:
    kind = b"/Type /XObject /Subtype /Image /Width %d /Height %d /BitsPerComponent 1 /ColorSpace /DeviceGray %b"
    return one_page(
        b"q 612 0 0 792 0 0 cm /X Do Q",
        resources=b"/XObject << /X 6 0 R >>",
        more=[stream(data, kind % (wide, high, entries))],
    )


def _outline(items: Sequence[bytes]) -> bytes:
    """The outline is object 6, its items follow; `%P` is a page."""
    root = b"<< /Type /Outlines /First 7 0 R /Last 7 0 R /Count 1 >>"
    return one_page(catalog=b"/Outlines 6 0 R", more=[root, *items])


def _deep_outline(world: World) -> bytes:
    return _outline(
        [
            b"<< /Title (Deep) /Parent 6 0 R /First %d 0 R /Last %d 0 R /Dest [3 0 R /Fit] >>" % (n, n)
            for n in range(8, world.many(20_000))
        ]
    )


def _forms(_world: World) -> bytes:
    """Ten forms, each drawing the next one twenty times."""
    form = (
        b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /Font "
        b"<< /F 5 0 R >> /XObject << /X %d 0 R >> >>"
    )
    more = [stream(b"/X Do " * 20, form % (7 + depth)) for depth in range(10)]
    return one_page(SHOWN + b" /X Do", resources=b"/XObject << /X 6 0 R >>", more=[*more, stream(SHOWN, form % 16)])


def _self_form(_world: World) -> bytes:
    form = b"/Type /XObject /Subtype /Form /BBox [0 0 612 792] /Resources << /XObject << /X 6 0 R >> >>"
    return one_page(SHOWN + b" /X Do", resources=b"/XObject << /X 6 0 R >>", more=[stream(b"/X Do", form)])


_LOCK = b"/Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <%b> /U <%b> >> /ID [<00> <00>]" % (b"aa" * 32, b"bb" * 32)


FILES: tuple[Hostile, ...] = (
    hostile("pdf/truncated.pdf", "either", lambda _: one_page()[:-300]),
    hostile("pdf/truncated-early.pdf", "refused", lambda _: one_page()[:60]),
    hostile("pdf/broken-xref.pdf", "taken", lambda _: one_page().replace(b"xref\n0", b"xrfe\n0")),
    hostile("pdf/xref-points-to-itself.pdf", "either", lambda _: one_page(trailer=b"/Prev 9")),
    hostile("pdf/junk-before-and-behind.pdf", "taken", lambda _: b"junk\n" * 50 + one_page() + b"\x00" * 2_000),
    hostile("pdf/hundred-thousand-pages.pdf", "refused", _shared_pages),
    hostile("pdf/says-a-billion-pages.pdf", "either", lambda _: _page_tree(b"3 0 R", 10**9)),
    hostile("pdf/says-minus-one-page.pdf", "either", lambda _: _page_tree(b"3 0 R", -1)),
    hostile("pdf/many-pages-of-one.pdf", "either", lambda w: _page_tree(b"3 0 R " * w.many(15_000), w.many(15_000))),
    hostile(
        "pdf/page-tree-that-cycles.pdf",
        "either",
        lambda _: _page_tree(b"3 0 R 2 0 R 6 0 R", 3, [b"<< /Type /Pages /Kids [2 0 R 6 0 R] /Count 2 >>"]),
    ),
    hostile(
        "pdf/outline-that-cycles.pdf",
        "taken",
        lambda _: _outline(
            [
                b"<< /Title (A) /Parent 6 0 R /Dest [3 0 R /Fit] /Next 8 0 R /First 7 0 R >>",
                b"<< /Title (B) /Next 7 0 R /First 7 0 R >>",
            ]
        ),
    ),
    hostile("pdf/outline-twenty-thousand-deep.pdf", "either", _deep_outline),
    hostile(
        "pdf/huge-mediabox.pdf",
        "either",
        lambda _: one_page(
            box=(
                b"[-1000000000 -1000000000 340000000000000000000000000000000000000 340000000000000000000000000"
                b"000000000000]"
            )
        ),
    ),
    hostile(
        "pdf/endless-mediabox.pdf",
        "either",
        lambda _: one_page(box=b"[0 0 9999999999999999999999999999999999999999999999999 nan]"),
    ),
    hostile("pdf/page-of-no-size.pdf", "either", lambda _: one_page(box=b"[0 0 0 0]")),
    hostile(
        "pdf/odd-rotation-and-unit.pdf",
        "either",
        lambda _: one_page(page=b"/Rotate 45 /UserUnit 1000000000000000000000000000000"),
    ),
    hostile(
        "pdf/blank-stream-of-50-mb.pdf", "either", _content(lambda w: b" " * w.many(50 << 20) + SHOWN, packed=True)
    ),
    hostile(
        "pdf/text-stream-of-50-mb.pdf",
        "either",
        _content(lambda w: (SHOWN + b"\n") * (w.many(50 << 20) // len(SHOWN)), packed=True),
    ),
    hostile(
        "pdf/stream-packed-three-times.pdf",
        "either",
        lambda w: pdf(
            [
                b"<< /Type /Catalog /Pages 2 0 R >>",
                b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
                b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>",
                stream(
                    zlib.compress(zlib.compress(zlib.compress(b"\x00" * w.many(200 << 20), 9), 9), 9),
                    b"/Filter [/FlateDecode /FlateDecode /FlateDecode]",
                ),
            ]
        ),
    ),
    hostile("pdf/nested-arrays.pdf", "either", lambda w: one_page(page=b"/X " + b"[" * w.many(200_000))),
    hostile(
        "pdf/nested-dictionaries.pdf",
        "either",
        lambda w: one_page(more=[b"<< /A " * w.many(100_000) + b">>" * w.many(100_000)]),
    ),
    hostile("pdf/nested-arrays-in-content.pdf", "either", _content(lambda w: b"[" * w.many(500_000) + SHOWN)),
    hostile("pdf/half-a-million-saved-states.pdf", "either", _content(lambda w: b"q " * w.many(500_000) + SHOWN)),
    hostile("pdf/form-that-draws-itself.pdf", "taken", _self_form),
    hostile("pdf/forms-that-multiply.pdf", "either", _forms),
    hostile("pdf/javascript-launch-and-uri.pdf", "taken", _actions),
    hostile("pdf/content-in-other-files.pdf", "taken", _outside),
    hostile("pdf/encrypted.pdf", "refused", lambda _: one_page(trailer=_LOCK)),
    hostile("pdf/embedded-files.pdf", "taken", _embedded),
    hostile(
        "pdf/letters-that-are-surrogates.pdf",
        "either",
        lambda _: _map("<53> <D800> <6F> <DC00> <77> <DFFF> <61> <D83CD83C>"),
    ),
    hostile(
        "pdf/letters-that-are-nul.pdf",
        "either",
        lambda _: _map("<53> <0000> <6F> <0001> <77> <FFFE> <61> <FFFF> <65> <007F>"),
    ),
    hostile(
        "pdf/letters-of-private-use.pdf",
        "either",
        lambda _: _map(" ".join(f"<{code:02X}> <{0xE000 + code:04X}>" for code in range(32, 127))),
    ),
    hostile(
        "pdf/letters-that-are-line-ends.pdf",
        "either",
        lambda _: _map("<53> <000A> <6F> <2029> <77> <000D000A> <61> <0085> <65> <FEFF>"),
    ),
    hostile(
        "pdf/letters-that-are-books.pdf", "either", lambda _: _map(f"<6F> <{'0041' * 500}> <61> <{'202E0300' * 300}>")
    ),
    hostile(
        "pdf/text-far-outside.pdf",
        "either",
        lambda _: one_page(
            (
                b"BT /F 12 Tf 1000000000 1000000000 Td (Far.) Tj -2000000000 -2000000000 "
                b"Td (Away.) Tj 340000000000000000000000000000000000000 0 Td (Gone.) "
                b"Tj ET "
            )
            + SHOWN
        ),
    ),
    hostile("pdf/hundred-thousand-tiny-letters.pdf", "either", _content(_scattered)),
    hostile("pdf/six-hundred-rows-of-fifty.pdf", "either", _content(_grid)),
    hostile(
        "pdf/hundred-thousand-lines.pdf",
        "either",
        _content(
            lambda w: (
                b"".join(
                    b"%d %d m %d %d l S\n" % (n % 600, n // 600, n % 600 + 9, n // 600) for n in range(w.many(100_000))
                )
                + SHOWN
            )
        ),
    ),
    hostile(
        "pdf/negative-and-endless-sizes.pdf",
        "either",
        lambda _: one_page(
            b"BT /F -12 Tf 72 700 Td (Minus.) Tj /F 340000000000000000000000000000000000000 "
            b"Tf (Huge.) Tj /F 0 Tf (None.) Tj /F 0.0000000000000000000000000000000001 "
            b"Tf (Tiny.) Tj -1000000 Tz (Wide.) Tj 340000000000000000000000000000000000000 "
            b"Tc (Gap.) Tj ET"
        ),
    ),
    hostile(
        "pdf/picture-of-a-terapixel.pdf",
        "either",
        lambda _: _picture(1_000_000, 1_000_000, b"\xff" * 64, b""),
        slow=True,
    ),
    hostile(
        "pdf/picture-that-is-broken.pdf",
        "either",
        lambda _: _picture(600, 800, bytes(range(256)) * 8, b"/Filter /JPXDecode"),
        slow=True,
    ),
    hostile("pdf/picture-of-nothing.pdf", "refused", lambda _: _picture(100, 100, b"\xff" * 1_300, b""), slow=True),
    hostile(
        "pdf/no-page-at-all.pdf",
        "refused",
        lambda _: pdf([b"<< /Type /Catalog /Pages 2 0 R >>", b"<< /Type /Pages /Kids [] /Count 0 >>"]),
    ),
    hostile("pdf/catalog-that-is-missing.pdf", "refused", lambda _: pdf([b"null"])),
)
