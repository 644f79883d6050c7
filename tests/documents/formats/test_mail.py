"""A message is its subject, who wrote to whom, and its text; a broken or hostile one is read or refused."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hostile_mail import Storage, ole, outlook
from quoth.documents.formats.mail import eml, mbox, msg
from quoth.documents.formats.mail.mime import header_value, read_message
from quoth.errors import UnreadableFile
from quoth.types import RegionKind

from .mail_files import blocks, box, letter, texts

HEADER = ["Barley", "From: Ann <ann@example.org>", "To: Bob <bob@example.org>", "Date: Mon, 02 Mar 2026 08:15:00 +0000"]


def refusal(data: bytes, module: object = eml) -> str:
    with pytest.raises(UnreadableFile) as refused:
        module.extract(data)  # type: ignore[attr-defined]
    assert refused.value.path == ""
    assert refused.value.hint
    return str(refused.value)


def test_the_subject_is_the_title_and_the_heading() -> None:
    found = eml.extract(bytes(letter()))

    assert dict(found.properties) == {"title": "Barley"}
    assert blocks(found)[0] == (RegionKind.HEADING, "Barley")
    assert [text for _, text in blocks(found)] == [*HEADER, "Sow the barley at 3 cm."]
    assert {region.section for region in found.regions or ()} == {("Barley",)}


def test_a_message_without_a_subject_says_so_and_has_no_title() -> None:
    found = eml.extract(b"From: ann@example.org\n\nSow.\n")

    assert found.text == "(no subject)\n\nFrom: ann@example.org\n\nSow."
    assert dict(found.properties) == {}


def test_plain_text_is_preferred_to_the_page_that_says_the_same() -> None:
    message = letter("Sow it.")
    message.add_alternative("<p>Sow <b>it</b> twice.</p>", subtype="html")

    assert texts(bytes(message)) == [*HEADER, "Sow it."]


def test_a_page_alone_is_read_as_one() -> None:
    message = letter("")
    message.set_content("<h1>Sowing</h1><ul><li>Barley</li></ul><blockquote>Rye.</blockquote>", subtype="html")

    assert blocks(eml.extract(bytes(message)))[4:] == [
        (RegionKind.HEADING, "Sowing"),
        (RegionKind.LIST_ITEM, "• Barley"),
        (RegionKind.QUOTE, "Rye."),
    ]


def test_quoted_lines_are_quotes_without_their_marks() -> None:
    text = "I agree.\n\n> > Sow the barley\n> > at 3 cm.\n> Why so deep?\n\nSee above.\n\n-- \nAnn, phone 555-0101\n"

    assert blocks(eml.extract(bytes(letter(text))))[4:] == [
        (RegionKind.PARAGRAPH, "I agree."),
        (RegionKind.QUOTE, "Sow the barley\nat 3 cm."),
        (RegionKind.QUOTE, "Why so deep?"),
        (RegionKind.PARAGRAPH, "See above."),
        (RegionKind.PARAGRAPH, "Ann, phone 555-0101"),
    ]


def test_flowed_lines_are_joined() -> None:
    data = b"Subject: x\nContent-Type: text/plain; format=flowed\n\nSow at \n3 cm.\n> Why so \n> deep?\n-- \nAnn\n"

    assert texts(data) == ["x", "Sow at 3 cm.", "Why so deep?", "Ann"]


def test_a_patch_is_code() -> None:
    patch = "diff --git a/a.c b/a.c\n--- a/a.c\n+++ b/a.c\n@@ -1 +1 @@\n-int a;\n+int b;"

    assert blocks(eml.extract(bytes(letter(f"Fix it.\n\n{patch}\n-- \n2.39\n"))))[4:6] == [
        (RegionKind.PARAGRAPH, "Fix it."),
        (RegionKind.CODE, patch),
    ]


def test_a_pgp_signature_is_left_out() -> None:
    begin, end = "-----BEGIN PGP", "-----END PGP"
    signed = f"{begin} SIGNED MESSAGE-----\nHash: SHA256\n\nSow.\n{begin} SIGNATURE-----\niQ==\n{end} SIGNATURE-----\n"

    assert texts(bytes(letter(signed)))[4:] == ["Sow."]


def test_a_forwarded_message_is_a_section() -> None:
    message = letter("See below.")
    message.add_attachment(letter("Sow rye."))

    sections = {region.section for region in eml.extract(bytes(message)).regions or ()}

    assert texts(bytes(message))[4:] == ["See below.", *HEADER, "Sow rye."]
    assert sections == {("Barley",), ("Barley", "Barley")}


def test_attachments_are_kept_apart_by_their_names() -> None:
    message = letter("See the list.")
    message.add_attachment(b"%PDF-1.7", maintype="application", subtype="pdf", filename="../plan\\for 2026.pdf")
    message.add_attachment("Rye.", filename="=?utf-8?q?r=C3=BCben=2Etxt?=")

    mail = read_message(bytes(message))

    assert [(one.name, one.data.strip()) for one in mail.attachments] == [
        ("for 2026.pdf", b"%PDF-1.7"),
        ("rüben.txt", b"Rye."),
    ]
    assert texts(bytes(message))[4:] == ["See the list."]


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ("=?utf-8?B?R3LDvMOfZQ==?=", "Grüße"),
        ("=?utf-8?q?Gr=C3=BC=C3=9Fe_an?= =?utf-8?q?_alle?=", "Grüße an alle"),
        ("=?utf-8?q?Gr=C3?= =?utf-8?q?=BC=C3=9Fe?=", "Grüße"),
        ("Re: =?iso-8859-1?Q?caf=E9?= (2 pm)", "Re: café (2 pm)"),
        ("=?koi8-r?B?8NLJ18XU?= and =?utf-8?b?broken", "Привет and =?utf-8?b?broken"),
        ("=?no-such?q?a=E9?=", "aé"),
        ("=?utf-8?b?not base64!?=", "not base64!"),
        ("folded\r\n\tover lines", "folded over lines"),
        (b"raw caf\xc3\xa9".decode("ascii", "surrogateescape"), "raw café"),
        (b"raw caf\xe9".decode("ascii", "surrogateescape"), "raw café"),
        ("nul \x00 and \x1b[2J", "nul and [2J"),
    ],
)
def test_headers_are_decoded(raw: str, said: str) -> None:
    assert header_value(raw) == said


@pytest.mark.parametrize(
    ("charset", "encoding"),
    [("utf-8", "utf-8"), ("iso-8859-1", "cp1252"), ("", "utf-8"), ("x-unknown", "cp1252"), ("us-ascii", "utf-8")],
)
def test_the_text_is_decoded_by_its_charset_or_what_fits(charset: str, encoding: str) -> None:
    head = f'Subject: x\nContent-Type: text/plain; charset="{charset}"\nContent-Transfer-Encoding: 8bit\n\n'

    assert texts(head.encode() + "Grüße an alle, naïve façade.".encode(encoding)) == [
        "x",
        "Grüße an alle, naïve façade.",
    ]


def test_line_ends_and_a_byte_order_mark_change_nothing() -> None:
    data = bytes(letter("One.\n\nTwo."))

    assert texts(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n")) == texts(data)


@pytest.mark.parametrize(
    "data",
    [
        b"Subject: a\n\n" + b"\x00\xff" * 50,
        b"Subject: a\nContent-Type: multipart/mixed\n\nno boundary",
        b"Subject: a\nContent-Type: multipart/mixed; boundary=b\n\n--b\n\nNever closed.",
        b'Subject: a\nContent-Type: text/plain; charset="\nContent-Transfer-Encoding: x-strange\n\nSow.',
        b"Subject: a\nContent-Transfer-Encoding: base64\n\n!!!not base64!!!",
        b"Subject: a\nContent-Type: text/plain; charset=punycode\n\nSow.",
        b"Subject: a\nContent-Type: message/rfc822\n\n",
        b"Subject: a\nContent-Type: multipart/digest; boundary=b\n\n--b\n\n--b--",
        b"Subject: a\nContent-Disposition: attachment; filename*0*=%ff''%ff; filename*x=1\n\nSow.",
        b"Subject: a\nno header at all\n\nSow.",
        b"A: " + b"x" * 100_000 + b"\n" + b"B: y\n" * 20_000 + b"\nSow.",
        b"From: a\n",
    ],
)
def test_what_is_broken_is_still_read(data: bytes) -> None:
    found = eml.extract(data)

    assert "\x00" not in found.text
    assert found.regions


@pytest.mark.parametrize("data", [b"", b"\x00", b"just words", b"\x89PNG\r\n", b"<html>"])
def test_what_is_no_message_is_refused(data: bytes) -> None:
    assert "it is no message" in refusal(data)


def test_ten_thousand_nested_parts_are_refused() -> None:
    nested = b"Subject: a\n" + b"".join(
        b"Content-Type: multipart/mixed; boundary=b%d\n\n--b%d\n" % (n, n) for n in range(10_000)
    )

    assert "nested too deeply" in refusal(nested + b"\nSow.")
    assert "nested too deeply" in refusal(b"Content-Type: message/rfc822\n\n" * 10_000)


def test_too_many_parts_are_refused() -> None:
    data = b"Content-Type: multipart/mixed; boundary=b\n\n" + b"--b\n\nx\n" * 10_100 + b"--b--\n"

    assert "more than 10,000 parts" in refusal(data)


def test_a_mailbox_has_a_section_for_each_message() -> None:
    first, second = bytes(letter("Sow.\nFrom here on it is dry.\n>From now on.\n")), bytes(letter("Reap."))
    data = (
        b"From ann Mon Mar  2 08:15:00 2026\n"
        + first
        + b"\nFrom bob Tue Mar  3 08:15:00 2026\n"
        + second.replace(b"Barley", b"Rye")
    )

    assert [section for section, text in box(data) if text.startswith("From: ")] == [("Barley",), ("Rye",)]
    assert ("Rye",) in dict(box(data)) and (("Rye",), "Reap.") in box(data)
    assert {(("Barley",), "From here on it is dry."), (("Barley",), "From now on.")} <= set(box(data))


def test_a_bad_message_in_a_mailbox_is_named_and_the_rest_is_read() -> None:
    nested = b"Content-Type: message/rfc822\n\n" * 5_000
    found = mbox.extract(b"From a\n" + nested + b"\nFrom b\n" + bytes(letter()))

    assert found.notes == ("message 1 was left out: its parts are nested too deeply",)
    assert found.text.endswith("Sow the barley at 3 cm.")


def test_what_is_no_mailbox_is_refused() -> None:
    assert "no message begins in it" in refusal(b"Just words.", mbox)
    assert "no message begins in it" in refusal(b"", mbox)


def test_a_message_of_outlook_is_read() -> None:
    inner: Storage = {"__substg1.0_3701000D": outlook("Rye", "Sow rye at 2 cm.")}
    file = {"__substg1.0_3707001F": "plan.pdf".encode("utf-16-le"), "__substg1.0_37010102": b"%PDF-1.7"}
    more: Storage = {"__attach_version1.0_#00000000": file, "__attach_version1.0_#00000001": inner}
    data = ole(outlook("Barley", "Sow it.\r\n\r\n> Why?", more, sent=134_169_057_000_000_000))

    found = msg.extract(data)

    assert dict(found.properties) == {"title": "Barley"}
    assert [text for _, text in blocks(found)] == [
        "Barley",
        "From: Ann <ann@example.org>",
        "To: Bob; Cid",
        "Date: 2026-03-02 06:15:00 UTC",
        "Sow it.",
        "Why?",
        "Rye",
        "From: Ann <ann@example.org>",
        "To: Bob; Cid",
        "Sow rye at 2 cm.",
    ]
    assert [(one.name, one.data) for one in msg.read_msg(data).attachments] == [("plan.pdf", b"%PDF-1.7")]


def test_the_page_of_an_outlook_message_is_read_where_it_has_no_text() -> None:
    page = "<html><body><p>Säen.</p></body></html>".encode("cp1252")

    assert blocks(msg.extract(ole(outlook(more={"__substg1.0_10130102": page}))))[3:] == [
        (RegionKind.PARAGRAPH, "Säen.")
    ]


def test_an_outlook_message_in_rtf_alone_says_what_is_missing() -> None:
    assert "as RTF only" in msg.extract(ole(outlook(more={"__substg1.0_10090102": b"LZFu"}))).notes[0]


def test_other_ole_files_are_refused() -> None:
    assert "it is no message of Outlook" in refusal(ole({"WordDocument": b"x" * 600}), msg)
    assert "it cannot be opened" in refusal(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(504), msg)
    assert "it cannot be opened" in refusal(b"Subject: a\n\nSow.", msg)
    assert "it cannot be opened" in refusal(b"", msg)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_an_outlook_message_with_flipped_bytes_is_read_or_refused_never_worse(data: st.DataObject) -> None:
    whole = bytearray(
        ole(outlook("Barley", "Sow it.", {"__attach_version1.0_#00000000": {"__substg1.0_3701000D": outlook()}}))
    )
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    try:
        found = msg.extract(bytes(whole))
    except UnreadableFile:
        return
    assert "\x00" not in found.text


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.sampled_from(
            [
                *(
                    "Subject: a\n",
                    "Content-Type: multipart/mixed; boundary=b\n",
                    "Content-Type: text/html\n",
                    "\n",
                    "--b\n",
                    "--b--\n",
                ),
                *(
                    "Content-Transfer-Encoding: base64\n",
                    "U293Lg==\n",
                    "> Sow.\n",
                    "<p>Sow.</p>\n",
                    "From a\n",
                    "=?utf-8?q?=C3?=\n",
                ),
                *(
                    "Content-Type: message/rfc822\n",
                    "Content-Disposition: attachment; filename=a.txt\n",
                    "\x00\r\n",
                    " \n",
                    "Ü 2.5 cm\n",
                ),
            ]
        ),
        max_size=40,
    )
)
def test_any_order_of_lines_gives_a_whole_text(lines: list[str]) -> None:
    found = eml.extract(("From: ann@example.org\n" + "".join(lines)).encode())
    covered = {place for region in found.regions or () for place in range(region.span.start, region.span.end)}

    assert all(found.text[place].isspace() for place in set(range(len(found.text))) - covered)
