"""How much of a document comes through: sentences recovered whole from PDF, DOCX and HTML files of known text.

    python tools/extraction.py                     # documents of ../shared/eval, 60 files, with LibreOffice
    python tools/extraction.py --docs examples/agriculture/docs --limit 3 --floor 0.9

Each document is written as a flat OpenDocument file and converted by LibreOffice to a PDF in one column, a PDF in two,
a DOCX and an HTML page; then each is extracted, split, and compared with the sentences of the original. A sentence is
recovered when exactly its words, spaces aside, are one sentence of the extract. Every sentence is sliced again by its
offsets and compared. The exit code is 1 when a share is below `--floor`, or a slice is not exact.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from flat_office import flat_document
from quoth.documents.encodings import decode
from quoth.documents.files import SourceFile
from quoth.documents.formats.recognition import recognise
from quoth.documents.sentences import split
from quoth.documents.split_document import ExtractedFile, split_document
from quoth.documents.worker.pool import Extraction
from quoth.domain.profile import load_profile
from quoth.errors import UnreadableFile
from quoth.language.enumerations import ENUMERATOR
from quoth.settings import IngestSettings
from quoth.types import SplitDocument

SETS = ("agriculture", "irrigation", "contracts", "nda", "encyclopedia")
KINDS = {
    "PDF, one column": (1, "pdf"),
    "PDF, two columns": (2, "pdf"),
    "DOCX": (1, "docx"),
    "HTML": (1, "html"),
}
_LONGEST = 60_000  # code points of a document that are used, up to a blank line


@dataclass(frozen=True, slots=True)
class Result:
    kind: str
    sentences: int
    recovered: int
    exact: int
    extracted: int
    pages: int
    seconds: float
    lost: tuple[str, ...]


def main() -> int:
    options = _options()
    office = shutil.which("soffice") or shutil.which("libreoffice")
    if office is None:
        print("LibreOffice is not installed: apt-get install libreoffice-writer-nogui", file=sys.stderr)
        return 2
    documents = list(_documents(options.docs, options.limit))
    if not documents:
        print("no documents: ../shared/eval is not there; give a folder with --docs", file=sys.stderr)
        return 2
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as scratch, Extraction(IngestSettings(workers=1)) as extraction:
        for number, path in enumerate(documents, 1):
            print(f"\r{number} of {len(documents)} documents", end="", file=sys.stderr, flush=True)
            results += _measured(path, Path(scratch), office, extraction)
    print(file=sys.stderr)
    return _report(results, floor=options.floor, show=options.show)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=Path, help="a folder with Markdown and plain text; else ../shared/eval")
    parser.add_argument("--limit", type=int, default=15, help="how many documents")
    parser.add_argument("--floor", type=float, default=0.0, help="the least share that must be recovered")
    parser.add_argument("--show", type=int, default=0, help="print so many lost sentences of each kind of file")
    return parser.parse_args()


def _documents(folder: Path | None, limit: int) -> Iterator[Path]:
    """The largest documents of each folder, as many of each as of the others."""
    shared = Path(__file__).resolve().parents[2] / "shared" / "eval"
    folders = [folder] if folder else [shared / name / "docs" for name in SETS]
    there = [one for one in folders if one.is_dir()]
    for one in there:
        files = [path for path in one.rglob("*") if path.suffix in {".md", ".txt"}]
        yield from sorted(files, key=lambda path: (-path.stat().st_size, path))[: -(-limit // len(there))]


def _measured(path: Path, scratch: Path, office: str, extraction: Extraction) -> Iterator[Result]:
    text = _shortened(decode(path.read_bytes(), label=path.name)[0])
    form = "markdown" if path.suffix == ".md" else "text"
    parts = split(text, format=form)
    regions = [region for region, _ in parts]
    wanted = [_plain(text[span.start : span.end]) for region, spans in parts if region.kind.evidence for span in spans]
    for kind, (columns, ending) in KINDS.items():
        source = scratch / "document.fodt"
        source.write_text(flat_document(text, regions, title=f"{path.stem} (extract)", columns=columns), "utf-8")
        subprocess.run(
            [
                office,
                f"-env:UserInstallation={(scratch / 'profile').as_uri()}",
                "--headless",
                "--convert-to",
                "html:XHTML Writer File" if ending == "html" else ending,
                "--outdir",
                scratch,
                source,
            ],
            check=True,
            capture_output=True,
            timeout=300,
        )
        made = scratch / f"document.{ending}"
        yield _compared(kind, made, wanted, extraction)
        made.unlink()


def _shortened(text: str) -> str:
    if len(text) <= _LONGEST:
        return text
    blank = text.rfind("\n\n", 0, _LONGEST)
    return text[: blank if blank > 0 else _LONGEST]


def _compared(kind: str, made: Path, wanted: list[str], extraction: Extraction) -> Result:
    began = time.monotonic()
    document = _extracted(made, extraction)
    seconds = time.monotonic() - began
    text = document.document.text
    sentences = document.sentences
    found: dict[str, list[str]] = {}
    for one in sentences:
        found.setdefault(_letters(_plain(one.text)), []).append(one.text)
    lost = tuple(one for one in wanted if not any(_same(one, other) for other in found.get(_letters(one), ())))
    return Result(
        kind=kind,
        sentences=len(wanted),
        recovered=len(wanted) - len(lost),
        exact=sum(1 for one in sentences if text[one.quote.span.start : one.quote.span.end] == one.text),
        extracted=len(sentences),
        pages=len(document.pages),
        seconds=seconds,
        lost=lost,
    )


def _extracted(made: Path, extraction: Extraction) -> SplitDocument:
    form = recognise(made)
    if form is None:
        raise UnreadableFile(str(made), "it is of no kind that can be read", hint="")
    extract = extraction.extract(made.read_bytes(), form=form, label=made.name)
    file = SourceFile(made.name, made, made.parent, form)
    extracted = ExtractedFile(file, "", "", "", extract, fields={}, fingerprint="")
    return split_document(extracted, load_profile("general"))


_LINE_END = re.compile(r"\s*\n\s*")
_MARK = "\N{SYMBOL FOR NEWLINE}"
_SPACES = re.compile(r"\s+")
_HYPHEN = re.compile(r"(?<=\w)[-\u2010\u00ad]\s*(?=\w)|(?<=[–—/])\s+|\s+(?=[–—/])")


def _plain(text: str) -> str:
    """The words, single spaces between them, without the marks in front of a list item.

    Hyphens inside words do not count: at the end of a line nobody can tell a part of the word from the break. Nor do
    spaces around a dash, where a line may end as well.
    """
    words = _SPACES.sub(" ", _HYPHEN.sub("", text)).strip()
    while mark := ENUMERATOR.match(words.replace(_MARK, " ")):
        words = words[mark.end() :].lstrip(f" {_MARK}")
    return words


def _letters(words: str) -> str:
    return words.replace(" ", "")


def _same(wanted: str, found: str) -> bool:
    """Whether the spaces are right too. Only a line end may stand where there was none: a long address is broken."""
    kept = _plain(_LINE_END.sub(_MARK, _HYPHEN.sub("", found)))
    pattern = "".join(" ?" if one == _MARK else re.escape(one) for one in kept)
    return re.fullmatch(pattern, wanted) is not None


def _report(results: list[Result], *, floor: float, show: int) -> int:
    print(
        f"{'':<18}{'files':>6}{'sentences':>11}{'whole':>9}{'exact slices':>14}{'pages':>7}{'pages/s':>9}{'files/s':>9}"
    )
    failed = False
    for kind in KINDS:
        held = [one for one in results if one.kind == kind]
        wanted, whole = sum(one.sentences for one in held), sum(one.recovered for one in held)
        exact, extracted = sum(one.exact for one in held), sum(one.extracted for one in held)
        pages, seconds = sum(one.pages for one in held), sum(one.seconds for one in held)
        share = whole / max(1, wanted)
        failed |= share < floor or exact < extracted
        speed = f"{pages / seconds:>9.0f}" if pages else f"{'':>9}"
        print(
            f"{kind:<18}{len(held):>6}{wanted:>11}{share:>9.2%}{exact / max(1, extracted):>14.2%}{pages or '':>7}"
            f"{speed}{len(held) / seconds:>9.1f}"
        )
        for lost in [one for result in held for one in result.lost][:show]:
            print(f"    lost: {lost[:160]!r}")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
