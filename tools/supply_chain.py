"""Check the licences and hashes of every locked package, list what Quoth is made of, or look for known vulnerabilities.

    python tools/supply_chain.py check                  # every package is hashed and under an accepted licence
    python tools/supply_chain.py sbom dist/sbom.json    # a bill of materials, CycloneDX 1.6
    python tools/supply_chain.py audit                  # asks a vulnerability service, so it needs the network

`check` and `sbom` need no network: licences are read from the installed packages, so both run where
`requirements/dev.txt` is installed. `requirements/licenses.yaml` names the licences that are accepted, and each
exception with its reason.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import Distribution, distributions
from pathlib import Path

import yaml
from license_expression import ExpressionError, LicenseExpression, Licensing, get_spdx_licensing

ROOT = Path(__file__).resolve().parents[1]
REQUIREMENTS = ROOT / "requirements"
_LOCKS = ("run.txt", "image.txt", "dev.txt", "weights.txt")
_PINNED = re.compile(r"([A-Za-z0-9][\w.-]*)(?:\[[^\]]*\])?==([^\s;\\]+)")
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})\b")
_ASKED_BY = re.compile(r"#\s+(?:via\s+)?([A-Za-z0-9][\w.-]*)(?: \(pyproject\.toml\S*\))?$")


@dataclass(frozen=True, slots=True)
class Package:
    """A package as the locks pin it. `locks` are the files that name it, `asked_by` the packages that need it."""

    name: str
    version: str
    hashes: frozenset[str]
    locks: frozenset[str]
    asked_by: frozenset[str]


@dataclass(frozen=True, slots=True)
class Licences:
    """What `licenses.yaml` says: accepted SPDX ids, what older names stand for, exceptions, and the files of data."""

    accepted: frozenset[str]
    words: Mapping[str, str]
    exceptions: Mapping[str, Mapping[str, str]]
    data: tuple[Mapping[str, str], ...]


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def read_locks(folder: Path = REQUIREMENTS) -> tuple[Package, ...]:
    """Return every locked package in the order of names and versions. A file that is not there locks nothing."""
    found: dict[tuple[str, str], Package] = {}
    for lock in _LOCKS:
        path = folder / lock
        for package in _read_lock(path) if path.is_file() else ():
            key = (package.name, package.version)
            before = found.get(key, package)
            found[key] = Package(
                *key,
                hashes=before.hashes & package.hashes,  # a package that one file pins without hashes has none
                locks=before.locks | package.locks,
                asked_by=before.asked_by | package.asked_by,
            )
    return tuple(found[key] for key in sorted(found))


def _read_lock(path: Path) -> Iterator[Package]:
    package: Package | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if pinned := _PINNED.match(line):
            if package:
                yield package
            locks = frozenset([path.name])
            package = Package(canonical(pinned[1]), pinned[2], hashes=frozenset(), locks=locks, asked_by=frozenset())
        if package is None:
            continue
        if hashed := _HASH.search(line):
            package = replace(package, hashes=package.hashes | {hashed[1]})
        elif line.startswith(" ") and (asked := _ASKED_BY.search(line)) and asked[1] != "via":
            package = replace(package, asked_by=package.asked_by | {canonical(asked[1])})
    if package:
        yield package


def read_licences(path: Path = REQUIREMENTS / "licenses.yaml") -> Licences:
    raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    return Licences(frozenset(raw["accepted"]), raw["words"], raw["exceptions"], tuple(raw["data"]))


def installed() -> dict[str, Distribution]:
    return {canonical(found.metadata["Name"]): found for found in distributions() if found.metadata["Name"]}


def licence_of(package: Package, distribution: Distribution | None, licences: Licences) -> str | None:
    """Return the SPDX expression of a package; None where neither its metadata nor an exception tell."""
    if exception := licences.exceptions.get(package.name):
        return exception["licence"]
    if distribution is None:
        return None
    metadata = distribution.metadata
    if stated := metadata.get_all("License-Expression"):
        return str(stated[0])
    classifiers = [str(text).partition("License :: ") for text in metadata.get_all("Classifier") or ()]
    named = [name for before, _, name in classifiers if not before and name != "OSI Approved"]
    if not named:
        text = "".join(metadata.get_all("License") or ())
        named = [line.strip() for line in text.strip().splitlines()[:1]]
    # Of several nobody knows whether one may choose: all must be accepted.
    return " AND ".join(licences.words.get(name, name) for name in named) or None


def accepts(expression: str, accepted: frozenset[str]) -> bool:
    """Return whether the accepted ids satisfy an SPDX expression: each side of `AND`, one side of `OR`."""
    try:
        parsed = _spdx().parse(expression, validate=True, strict=True)
    except ExpressionError:
        return False
    return parsed is not None and _satisfied(parsed, accepted)


def _satisfied(node: LicenseExpression, accepted: frozenset[str]) -> bool:
    if not node.args:  # an id, or one `WITH` an exception
        return str(node) in accepted
    sides = [_satisfied(side, accepted) for side in node.args]
    return any(sides) if isinstance(node, _spdx().OR) else all(sides)


@cache
def _spdx() -> Licensing:
    return get_spdx_licensing()


def offences(packages: Sequence[Package], found: Mapping[str, Distribution], licences: Licences) -> Iterator[str]:
    """Say what is wrong with each package, and which exceptions no package needs any more."""
    for package in packages:
        name, distribution = f"{package.name} {package.version}", found.get(package.name)
        if not package.hashes:
            yield f"{name} is locked without hashes: run `make lock`"
        if distribution and not _locked(packages, package.name, distribution.version):
            yield f"{name} is locked, but {distribution.version} is installed: install requirements/dev.txt again"
        licence = licence_of(package, distribution, licences)
        if licence is None and distribution is None:
            yield f"{name} is not installed, so its licence cannot be read: name it in requirements/licenses.yaml"
        elif licence is None:
            yield f"{name} names no licence: look it up, and name it in requirements/licenses.yaml"
        elif package.name not in licences.exceptions and not accepts(licence, licences.accepted):
            yield f"{name} is under {licence}, which requirements/licenses.yaml does not accept"
    needed = {package.name for package in packages}
    for name, exception in licences.exceptions.items():
        if name not in needed:
            yield f"requirements/licenses.yaml has an exception for {name}, which is not locked"
        if not exception.get("reason") or not accepts(exception["licence"], _known()):
            yield f"the exception for {name} in requirements/licenses.yaml needs an SPDX licence and a reason"


def _locked(packages: Sequence[Package], name: str, version: str) -> bool:
    return any(package.version == version for package in packages if package.name == name)


@cache
def _known() -> frozenset[str]:
    return frozenset(_spdx().known_symbols)


def check() -> int:
    packages = read_locks()
    wrong = sorted(set(offences(packages, installed(), read_licences())))
    for offence in wrong:
        print(offence, file=sys.stderr)
    print(f"{len(packages)} locked packages, {len(wrong)} to look at")
    return int(bool(wrong))


def audit(requirements: Sequence[Path], *, command: Sequence[str]) -> int:
    """Ask a vulnerability service about every locked package. What could not be asked about is no good news."""
    given = [argument for path in requirements for argument in ("-r", str(path))]
    ran = subprocess.run(
        [*command, *given, "--disable-pip", "--require-hashes", "--format", "json", "--progress-spinner", "off"],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        answers = json.loads(ran.stdout)["dependencies"]
    except (ValueError, KeyError, TypeError):
        said = [line.strip() for line in ran.stderr.splitlines() if line.strip()]
        print(f"pip-audit could not ask: {said[-1][:200] if said else 'it gave no reason'}", file=sys.stderr)
        print("It needs the network: the vulnerability service of PyPI, or of OSV with --service osv.", file=sys.stderr)
        return 1
    skipped = [answer for answer in answers if "skip_reason" in answer]
    known = [(answer, flaw) for answer in answers for flaw in answer.get("vulns", ())]
    for answer, flaw in known:
        fixed = ", ".join(flaw.get("fix_versions", ())) or "no version yet"
        print(f"{answer['name']} {answer['version']}: {flaw['id']}, fixed in {fixed}")
    if skipped:
        why = skipped[0]["skip_reason"]
        print(f"{len(skipped)} of {len(answers)} packages could not be asked about: {why}", file=sys.stderr)
        print("Nothing is known of these. A mirror without vulnerabilities has none to tell.", file=sys.stderr)
    print(f"{len(answers) - len(skipped)} packages asked about, {len(known)} known vulnerabilities")
    return int(bool(known or skipped))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="the licences and hashes of every locked package")
    commands.add_parser("sbom", help="write a bill of materials").add_argument("file", type=Path)
    asked = commands.add_parser("audit", help="look for known vulnerabilities")
    asked.add_argument("--service", choices=["pypi", "osv"], default="pypi")
    asked.add_argument("--requirements", type=Path, action="append", help="default: all")
    options = parser.parse_args()
    if options.command == "check":
        return check()
    if options.command == "sbom":
        from bill_of_materials import bill

        options.file.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(bill(read_locks(), installed(), read_licences()), indent=1, ensure_ascii=False)
        options.file.write_text(text + "\n", encoding="utf-8")
        return 0
    command = [sys.executable, "-m", "pip_audit", "--vulnerability-service", options.service]
    return audit(options.requirements or [REQUIREMENTS / "dev.txt", REQUIREMENTS / "weights.txt"], command=command)


if __name__ == "__main__":
    sys.exit(main())
