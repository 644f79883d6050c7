"""RTF, old Word files and ODT: LibreOffice turns them into DOCX, which is then read as any other.

LibreOffice runs with a profile of its own inside a private folder that is removed afterwards, so that it shares
nothing with the user's own, and is ended with everything it started when it takes too long.
"""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from quoth.corpus.formats import docx
from quoth.errors import UnreadableFile
from quoth.types import Extract

TIME_LIMIT = 100.0
"""Seconds for one file, of which starting takes a few; less than a worker has, so that it says what went wrong."""
MEMORY_LIMIT = 4 * 1024**3
"""Bytes of address space for LibreOffice: more than our own process may have, but not without end."""

_REVISION = 1
_GUARD = """exec 3<&0; "$@" </dev/null 3<&- & office=$!; (read -r _ <&3; kill -9 0) >/dev/null 2>&1 & wait "$office" """
"""Starts LibreOffice, and ends all of its process group when standard input ends: that is when we do, however."""
_INSTALL = "Install LibreOffice (Debian: apt-get install libreoffice-writer-nogui), or save the file as .docx."
_SAVE_AGAIN = "Open it in a word processor and save it as .docx."
_OLE = bytes.fromhex("d0cf11e0a1b11ae1")
_ZIP = b"PK\x03\x04"
_RTF = b"{\\rtf"
_ODT = b"mimetypeapplication/vnd.oasis.opendocument.text"
_STREAMS = {
    "EncryptedPackage": "it is protected by a password",
    "Workbook": "it is a spreadsheet, not a text",
    "Book": "it is a spreadsheet, not a text",
    "PowerPoint Document": "it is a presentation, not a text",
    "__properties_version1.0": "it is an e-mail message, not a text",
    "VisioDocument": "it is a drawing, not a text",
}
"""What an old Office file is, by the names in its directory."""
_DIRECTORY_ENTRY = 128
_SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="MacroSecurityLevel" oor:op="fuse"><value>3</value></prop>
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop>
<prop oor:name="BlockUntrustedRefererLinks" oor:op="fuse"><value>true</value></prop>
<prop oor:name="DisableActiveContent" oor:op="fuse"><value>true</value></prop>
</item>
<item oor:path="/org.openoffice.Office.Writer/Content/Update">
<prop oor:name="Link" oor:op="fuse"><value>0</value></prop>
</item>
</oor:items>
"""
"""No macros, no links out of the document, no update of those inside it."""


def extract(data: bytes, ending: str) -> Extract:
    """The text and the regions of an RTF, DOC or ODT file; its content decides, `ending` only names the format."""
    kind = _kind(data, ending)
    if kind == "docx":  # many a .doc is a .docx under its old name
        return docx.extract(data)
    return docx.extract(_converted(data, kind))


def version() -> str:
    """What makes the text, LibreOffice included; asked once for each process, as it takes a second."""
    return f"{_office_version()} / {_REVISION} / {docx.VERSION}"


def _kind(data: bytes, ending: str) -> str:
    """`rtf`, `doc`, `odt` or `docx`, by the first bytes of the file."""
    if data.lstrip()[: len(_RTF)] == _RTF:
        return "rtf"
    if data.startswith(_OLE):
        return _word_file(data)
    if data.startswith(_ZIP):
        return "odt" if _ODT in data[:200] else "docx"
    raise UnreadableFile("", f"it is not what its ending {ending} says", hint=_SAVE_AGAIN)


def _word_file(data: bytes) -> str:
    names = _directory(data)
    if "WordDocument" in names and "EncryptedPackage" not in names:
        return "doc"
    why = next((why for stream, why in _STREAMS.items() if stream in names), "it is not a file of Word")
    hint = "Open it with its password and save it without one." if "password" in why else _SAVE_AGAIN
    raise UnreadableFile("", why, hint=hint)


def _directory(data: bytes) -> set[str]:
    """The names in the directory of an old Office file. They lie in entries of 128 bytes, wherever its sectors are."""
    names = set()
    for stream in ("WordDocument", *_STREAMS):
        wanted = stream.encode("utf-16-le") + b"\x00\x00"
        at = data.find(wanted)
        while at >= 0 and at % _DIRECTORY_ENTRY:
            at = data.find(wanted, at + 1)
        if at >= 0:
            names.add(stream)
    return names


def _converted(data: bytes, kind: str) -> bytes:
    office = _office()
    with tempfile.TemporaryDirectory(prefix="quoth-office-") as folder:
        source, made = Path(folder, f"source.{kind}"), Path(folder, "made")
        source.write_bytes(data)
        profile = Path(folder, "profile", "user")
        profile.mkdir(parents=True)
        profile.joinpath("registrymodifications.xcu").write_text(_SETTINGS, encoding="utf-8")
        command = [
            *(office, f"-env:UserInstallation={profile.parent.as_uri()}", "--headless", "--norestore", "--nologo"),
            *("--nolockcheck", "--nodefault", "--convert-to", "docx:MS Word 2007 XML", "--outdir", str(made)),
            str(source),
        ]
        said = _run(command, folder)
        result = made / "source.docx"
        if not result.is_file():
            raise UnreadableFile("", f"LibreOffice cannot convert it{said and ': ' + said}", hint=_SAVE_AGAIN)
        return result.read_bytes()


def _run(command: list[str], folder: str) -> str:
    """Run LibreOffice to its end or to the time limit; return its last words."""
    # A home of its own keeps fonts' caches and the like out of the user's.
    environment = {**os.environ, "HOME": folder, "TMPDIR": folder, "SAL_USE_VCLPLUGIN": "svp"}
    with (
        _line_of_life() as line,
        _memory_limit(),
        subprocess.Popen(  # noqa: S603 - a fixed program, and the file's name is ours
            ["/bin/sh", "-c", _GUARD, "sh", *command],
            cwd=folder,
            env=environment,
            stdin=line,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process,
    ):
        try:
            _, errors = process.communicate(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            why = f"LibreOffice did not convert it within {TIME_LIMIT:.0f} seconds"
            raise UnreadableFile("", why, hint=_SAVE_AGAIN) from error
        finally:
            _end(process)
    lines = errors.decode("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines and process.returncode else ""


@contextmanager
def _line_of_life() -> Iterator[int]:
    """The end of a pipe to read from, where nothing ever comes but the end, when we are done or no more."""
    reading, writing = os.pipe()
    try:
        yield reading
    finally:
        os.close(reading)
        os.close(writing)


@contextmanager
def _memory_limit() -> Iterator[None]:
    """What is started inside may use as much memory as LibreOffice needs, whatever we may use ourselves."""
    own, most = resource.getrlimit(resource.RLIMIT_AS)
    allowed = MEMORY_LIMIT if most == resource.RLIM_INFINITY else min(MEMORY_LIMIT, most)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (own, most))


def _end(process: subprocess.Popen[bytes]) -> None:
    """End LibreOffice and whatever it started: its launcher leaves the real program behind."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def _office() -> str:
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        raise UnreadableFile("", "LibreOffice is needed to read it and is not installed", hint=_INSTALL)
    return found


@lru_cache(maxsize=1)
def _office_version() -> str:
    try:
        told = subprocess.run(  # noqa: S603 - a fixed program
            [_office(), "--version"], capture_output=True, timeout=TIME_LIMIT, check=False, stdin=subprocess.DEVNULL
        )
    except (UnreadableFile, OSError, subprocess.TimeoutExpired):
        return "no LibreOffice"
    return " ".join(told.stdout.decode("utf-8", "replace").split()[:2]) or "LibreOffice"
