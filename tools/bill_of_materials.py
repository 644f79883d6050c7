"""The bill of materials of Quoth as CycloneDX 1.6: packages, what needs what, and the weights with their hashes.

It holds neither a time nor a random number, so that the same locks give the same file. Packages that a plain
installation needs are `required`, those of the container's extras `optional`, and those of tests `excluded`.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from importlib.metadata import Distribution
from pathlib import Path
from typing import Any

from supply_chain import ROOT, Licences, Package, canonical, licence_of

SPECIFICATION = "1.6"
_SCOPES = {"run.txt": "required", "weights.txt": "required", "image.txt": "optional", "dev.txt": "excluded"}


def bill(packages: Sequence[Package], found: Mapping[str, Distribution], licences: Licences) -> dict[str, Any]:
    """Return the whole document. Raises FileNotFoundError for a file of data that is not there."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    itself = _purl(project["name"], project["version"])
    data = [_data(entry, found) for entry in licences.data]
    return {
        "$schema": f"http://cyclonedx.org/schema/bom-{SPECIFICATION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": SPECIFICATION,
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": itself,
                "purl": itself,
                "name": project["name"],
                "version": project["version"],
                "description": project["description"],
                "licenses": [{"expression": project["license"]}],
            }
        },
        "components": [_component(package, found.get(package.name), licences) for package in packages] + data,
        "dependencies": _dependencies(packages, licences, project["name"], itself),
    }


def _purl(name: str, version: str) -> str:
    return f"pkg:pypi/{name}@{version}"


def _component(package: Package, distribution: Distribution | None, licences: Licences) -> dict[str, Any]:
    purl = _purl(package.name, package.version)
    licence = licence_of(package, distribution, licences)
    return {
        "type": "library",
        "bom-ref": purl,
        "purl": purl,
        "name": package.name,
        "version": package.version,
        "scope": next(scope for lock, scope in _SCOPES.items() if lock in package.locks),
        **({"licenses": [{"expression": licence}]} if licence else {}),
        "externalReferences": [
            {
                "type": "distribution",
                "url": f"https://pypi.org/project/{package.name}/{package.version}/",
                "comment": "Each file that pip may install has one of these hashes.",
                "hashes": [{"alg": "SHA-256", "content": digest} for digest in sorted(package.hashes)],
            }
        ],
    }


def _data(entry: Mapping[str, str], found: Mapping[str, Distribution]) -> dict[str, Any]:
    with _located(entry, found).open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "type": "machine-learning-model" if "/language/" not in entry["file"] else "data",
        "bom-ref": f"data:{entry['file']}",
        "group": entry["package"],
        "name": entry["file"],
        "description": entry["origin"],
        "hashes": [{"alg": "SHA-256", "content": digest}],
        "licenses": [{"expression": entry["licence"]}],
    }


def _located(entry: Mapping[str, str], found: Mapping[str, Distribution]) -> Path:
    if entry["package"] == "quoth":
        return ROOT / "src" / entry["file"]
    return Path(str(found[entry["package"]].locate_file(entry["file"])))


def _dependencies(packages: Sequence[Package], licences: Licences, name: str, itself: str) -> list[dict[str, Any]]:
    """Return what needs what, as the locks say it. The weights are asked for by Quoth alone."""
    needs: dict[str, set[str]] = {itself: set()}
    by_name: dict[str, list[str]] = {canonical(name): [itself]}
    for package in packages:
        purl = _purl(package.name, package.version)
        needs[purl] = set()
        by_name.setdefault(package.name, []).append(purl)
    for package in packages:
        purl = _purl(package.name, package.version)
        for asking in package.asked_by or {canonical(name)}:
            for asker in by_name.get(asking, ()):
                needs[asker].add(purl)
    for entry in licences.data:
        for holder in by_name[entry["package"]]:
            needs[holder].add(f"data:{entry['file']}")
    return [{"ref": ref, "dependsOn": sorted(asked)} for ref, asked in sorted(needs.items())]
