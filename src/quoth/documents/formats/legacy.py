"""RTF, old Word files and ODT: LibreOffice converts them to DOCX, which is then read as usual.

LibreOffice runs with its own profile in a private folder that is removed afterwards, so it shares nothing with the
user's LibreOffice. It is killed with everything it started when it takes too long.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from quoth.documents.formats.docx import docx_document as docx
from quoth.documents.formats.recognition import OLE
from quoth.errors import UnreadableFile
from quoth.machine import witnesses
from quoth.types import Extract

TIME_LIMIT = 100.0
"""Seconds for one file. Less than a worker has, so that the worker can still report the reason."""
MEMORY_LIMIT = 4 * 1024**3
"""Bytes of address space for LibreOffice, which needs more than our own process may have."""

_REVISION = 1
_GUARD = """exec 3<&0; "$@" </dev/null 3<&- & office=$!; (read -r _ <&3; kill -9 0) >/dev/null 2>&1 & wait "$office" """
"""Starts LibreOffice, and kills its process group when standard input ends, which it does when our process ends."""
_INSTALL = "Install LibreOffice (Debian: apt-get install libreoffice-writer-nogui), or save the file as .docx."
_SAVE_AGAIN = "Open it in a word processor and save it as .docx."
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
"""No macros, no links out of the document, no updates of links inside it."""


def extract(data: bytes, ending: str) -> Extract:
    """Return the text and the regions of an RTF, DOC or ODT file. Its content tells the format, not its `ending`."""
    kind = _kind(data, ending)
    # Many .doc files are .docx files with the old ending.
    return docx.extract(data if kind == "docx" else _converted(data, kind))


def version() -> str:
    """Return what extracts the text, with the version of LibreOffice; it is asked once in each process."""
    return f"{_office_version()} / {_REVISION} / {docx.VERSION}"


def _kind(data: bytes, ending: str) -> str:
    """Return `rtf`, `doc`, `odt` or `docx` by the first bytes of the file; raise `UnreadableFile` for others."""
    if data.lstrip().startswith(b"{\\rtf"):
        return "rtf"
    if data.startswith(OLE):
        return _word_file(data)
    if data.startswith(b"PK\x03\x04"):
        return "odt" if _ODT in data[:200] else "docx"
    raise UnreadableFile("", f"it is not what its ending {ending} says", hint=_SAVE_AGAIN)


def _word_file(data: bytes) -> str:
    """Return `doc`, or raise `UnreadableFile`, by the names of the streams in an old Office file."""
    # The names stand in entries of 128 bytes, which begin at multiples of 128.
    names = {
        stream
        for stream in ("WordDocument", *_STREAMS)
        for found in re.finditer(re.escape(stream.encode("utf-16-le") + b"\x00\x00"), data)
        if found.start() % 128 == 0
    }
    if "WordDocument" in names and "EncryptedPackage" not in names:
        return "doc"
    why = next((why for stream, why in _STREAMS.items() if stream in names), "it is not a file of Word")
    hint = "Open it with its password and save it without one." if "password" in why else _SAVE_AGAIN
    raise UnreadableFile("", why, hint=hint)


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
        error = _run(command, folder)
        result = made / "source.docx"
        if not result.is_file():
            raise UnreadableFile("", f"LibreOffice cannot convert it{error and ': ' + error}", hint=_SAVE_AGAIN)
        return result.read_bytes()


def _run(command: list[str], folder: str) -> str:
    """Run LibreOffice to its end or to the time limit; return the last line of its errors, if it failed."""
    # Its own home keeps font caches and the like out of the user's home.
    environment = {**os.environ, "HOME": folder, "TMPDIR": folder, "SAL_USE_VCLPLUGIN": "svp"}
    errors = Path(folder, "errors")
    with (
        errors.open("wb") as stderr,
        _memory_limit(),
        subprocess.Popen(  # noqa: S603 - a fixed program, and the file's name is ours
            ["/bin/sh", "-c", _GUARD, "sh", *command],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,  # nothing is written to it: it stays open until the block or our process ends
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            start_new_session=True,
            pass_fds=witnesses(),
        ) as process,
    ):
        try:
            process.wait(timeout=TIME_LIMIT)
        except subprocess.TimeoutExpired as error:
            why = f"LibreOffice did not convert it within {TIME_LIMIT:.0f} seconds"
            raise UnreadableFile("", why, hint=_SAVE_AGAIN) from error
        finally:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)  # with all it started: the launcher leaves the program behind
    lines = errors.read_text("utf-8", "replace").strip().splitlines()
    return lines[-1][:200] if lines and process.returncode else ""


@contextmanager
def _memory_limit() -> Iterator[None]:
    """Let processes that start inside the block use as much memory as LibreOffice needs."""
    own, most = resource.getrlimit(resource.RLIMIT_AS)
    allowed = MEMORY_LIMIT if most == resource.RLIM_INFINITY else min(MEMORY_LIMIT, most)
    resource.setrlimit(resource.RLIMIT_AS, (allowed, most))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (own, most))


def _office() -> str:
    found = shutil.which("soffice") or shutil.which("libreoffice")
    if found is None:
        raise UnreadableFile("", "LibreOffice is needed to read it and is not installed", hint=_INSTALL)
    return found


@lru_cache(maxsize=1)
def _office_version() -> str:
    try:
        printed = subprocess.run(  # noqa: S603 - a fixed program
            [_office(), "--version"], capture_output=True, timeout=TIME_LIMIT, check=False, stdin=subprocess.DEVNULL
        )
    except (UnreadableFile, OSError, subprocess.TimeoutExpired):
        return "no LibreOffice"
    return " ".join(printed.stdout.decode("utf-8", "replace").split()[:2]) or "LibreOffice"
