"""Put one section into a settings file; every other line of it stays as it is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from quoth.errors import SettingsError
from quoth.machine import usual_mode
from quoth.settings import parse_yaml

_INDENT = "  "


def section_yaml(name: str, values: Mapping[str, Any], *, remark: str) -> str:
    """A section as YAML with a remark inside, which goes when the section goes."""
    body = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True, default_flow_style=False, width=1_000)
    lines = [f"{name}:", *(f"{_INDENT}{line}" for line in [f"# {remark}", *body.splitlines()])]
    return "\n".join(lines) + "\n"


def put_section(path: Path, name: str, section: str) -> None:
    """Write the section in place of the one of that name, or behind all others; a reader sees the old or the new file.

    `SettingsError` when the file cannot be read, is not valid, or has a form in which a section cannot be exchanged.
    """
    before = _read(path)
    after = _with_section(before, name, section, path=path)
    expected = {**_content(before, path), **_content(section, path)}
    try:
        same = parse_yaml(after, what=str(path), hint="") == expected
    except SettingsError:
        same = False
    if not same:
        raise _refusal(path, f"has a form in which the section '{name}' cannot be exchanged", section)
    _replace_file(path, after)


def _read(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise SettingsError(
            f"cannot read {path}: {why}", hint="Give another settings file with --config, or look with --dry-run."
        ) from error


def _content(source: str, path: Path) -> dict[str, Any]:
    content = parse_yaml(source, what=str(path), hint="Correct the file; see docs/settings.md.") or {}
    if not isinstance(content, dict):
        raise SettingsError(f"{path} must hold a mapping", hint="For example: selection: {max_sentences: 4}")
    return content


def _with_section(text: str, name: str, section: str, *, path: Path) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    section = section.replace("\n", newline)
    lines = text.splitlines(keepends=True)
    place = _place(text, name, path=path)
    if place is None:
        gap = newline if text and not text.endswith(("\n", "\r")) else ""
        blank = newline if text.strip("\ufeff \r\n") else ""
        return text + gap + blank + section
    first, behind = place
    return "".join(lines[:first]) + section + "".join(lines[behind:])


def _place(text: str, name: str, *, path: Path) -> tuple[int, int] | None:
    """The lines (first, one behind the last) of a section; None when there is none."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise SettingsError(
            f"{path} is not valid YAML: {error}", hint="Correct the file; see docs/settings.md."
        ) from error
    if not isinstance(root, yaml.MappingNode):
        return None
    for key, value in root.value:
        if key.value == name:
            last = value.end_mark.line + (value.end_mark.column > 0)
            lines = text.splitlines()
            # YAML counts blank lines and remarks behind a section to it; they belong to what follows.
            while last > key.start_mark.line + 1 and (not lines[last - 1].strip() or lines[last - 1].startswith("#")):
                last -= 1
            return key.start_mark.line, last
    return None


def _refusal(path: Path, why: str, section: str) -> SettingsError:
    return SettingsError(f"{path} {why}", hint=f"Put it there by hand:\n{section}")


def _replace_file(path: Path, text: str) -> None:
    """Write aside, then rename; a link keeps pointing to its file, and the file keeps its rights."""
    target = path.resolve()
    try:
        descriptor, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            Path(aside).chmod(target.stat().st_mode if target.exists() else usual_mode())
            Path(aside).replace(target)
        except BaseException:
            with suppress(FileNotFoundError):
                Path(aside).unlink()
            raise
    except OSError as error:
        raise SettingsError(
            f"cannot write {path}: {error.strerror}", hint="Check its folder's rights, or give another --config."
        ) from error
