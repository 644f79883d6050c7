"""Every locked package is hashed and under an accepted licence; the bill of materials lists them and the weights."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from importlib.metadata import Distribution, PathDistribution
from pathlib import Path

import pytest

pytest.importorskip("license_expression", reason="the development packages are not installed")

from bill_of_materials import bill
from supply_chain import Licences, Package, accepts, audit, check, installed, offences, read_licences, read_locks

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "quoth" / "models" / "shipped"
FEW = frozenset({"MIT", "Apache-2.0"})


def test_every_locked_package_is_hashed_and_under_an_accepted_licence(capsys: pytest.CaptureFixture[str]) -> None:
    assert (check(), capsys.readouterr().err) == (0, "")


def test_locks_are_read_with_hashes_files_and_what_asks_for_a_package(tmp_path: Path) -> None:
    digest = "a" * 64
    run = (
        f"Nice_Name[extra]==1.0 ; python_version < '4' \\\n    --hash=sha256:{digest}\n    # via\n    #   -c dev.txt\n"
    )
    run += "    #   other\n"
    (tmp_path / "run.txt").write_text(run + "other==2\n    # via quoth (pyproject.toml)\n", encoding="utf-8")
    (tmp_path / "dev.txt").write_text(
        f"nice-name==1.0 \\\n    --hash=sha256:{digest}\n    # via third\n", encoding="utf-8"
    )

    assert read_locks(tmp_path) == (
        Package(
            "nice-name", "1.0", frozenset({digest}), frozenset({"run.txt", "dev.txt"}), frozenset({"other", "third"})
        ),
        Package("other", "2", frozenset(), frozenset({"run.txt"}), frozenset({"quoth"})),
    )


@pytest.mark.parametrize(
    ("expression", "taken"),
    [
        ("MIT", True),
        ("mit", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("GPL-3.0-only AND MIT", False),
        ("MIT AND (Apache-2.0 OR LGPL-3.0-only)", True),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("Free for all", False),
        ("", False),
    ],
)
def test_an_expression_is_accepted_as_spdx_reads_it(expression: str, *, taken: bool) -> None:
    assert accepts(expression, FEW) is taken


def distribution(folder: Path, *lines: str, version: str = "1.0") -> Distribution:
    folder.mkdir()
    head = ["Metadata-Version: 2.4", "Name: thing", f"Version: {version}", *lines]
    (folder / "METADATA").write_text("\n".join(head) + "\n", encoding="utf-8")
    return PathDistribution(folder)


def offences_of(found: Distribution | None, *, hashed: bool = True, **exceptions: dict[str, str]) -> list[str]:
    hashes = frozenset({"a" * 64} if hashed else ())
    package = Package("thing", "1.0", hashes, frozenset({"run.txt"}), frozenset())
    licences = Licences(FEW, {"OSI Approved :: MIT License": "MIT", "Apache": "Apache-2.0"}, exceptions, ())
    return list(offences([package], {"thing": found} if found else {}, licences))


@pytest.mark.parametrize(
    "line",
    [
        "License-Expression: MIT",
        "Classifier: License :: OSI Approved :: MIT License",
        "License: Apache",
        "Classifier: License :: OSI Approved\nLicense: MIT",
    ],
)
def test_a_licence_is_read_from_wherever_a_package_states_it(tmp_path: Path, line: str) -> None:
    assert offences_of(distribution(tmp_path / "thing.dist-info", line)) == []


def test_an_offender_is_named_with_its_licence(tmp_path: Path) -> None:
    found = distribution(tmp_path / "thing.dist-info", "License-Expression: GPL-3.0-only")
    assert offences_of(found) == ["thing 1.0 is under GPL-3.0-only, which requirements/licenses.yaml does not accept"]
    assert offences_of(found, thing={"licence": "GPL-3.0-only", "reason": "Tests only."}) == []


def test_what_cannot_be_known_is_no_permission(tmp_path: Path) -> None:
    silent = distribution(tmp_path / "silent.dist-info")
    other = distribution(tmp_path / "other.dist-info", "License-Expression: MIT", version="2.0")

    assert "names no licence" in offences_of(silent)[0]
    assert "is not installed" in offences_of(None)[0]
    assert "2.0 is installed" in offences_of(other)[0]
    assert "without hashes" in offences_of(None, hashed=False, thing={"licence": "MIT", "reason": "Known."})[0]
    assert "needs an SPDX licence and a reason" in offences_of(silent, thing={"licence": "MIT", "reason": ""})[0]
    assert (
        "is not locked"
        in offences_of(silent, thing={"licence": "MIT", "reason": "Known."}, gone={"licence": "MIT", "reason": "-"})[0]
    )


def test_the_bill_of_materials_is_valid_and_lists_packages_and_weights() -> None:
    validation = pytest.importorskip("cyclonedx.validation.json", reason="cyclonedx-python-lib is not installed")
    from cyclonedx.schema import SchemaVersion

    packages = read_locks()
    made = bill(packages, installed(), read_licences())

    assert validation.JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(made)) is None
    by_name = {component["name"]: component for component in made["components"]}
    assert {package.name for package in packages} <= set(by_name)
    assert [by_name[name]["scope"] for name in ("numpy", "psycopg", "mypy")] == ["required", "optional", "excluded"]
    graph = {entry["ref"]: entry["dependsOn"] for entry in made["dependencies"]}
    assert by_name["numpy"]["bom-ref"] in graph[by_name["onnxruntime"]["bom-ref"]]
    reader = by_name["quoth/models/shipped/reader.onnx"]
    digest = hashlib.sha256((SHIPPED / "reader.onnx").read_bytes()).hexdigest()
    assert (reader["hashes"], reader["licenses"]) == (
        [{"alg": "SHA-256", "content": digest}],
        [{"expression": "Apache-2.0"}],
    )


def test_every_model_in_the_package_stands_in_the_bill() -> None:
    listed = {Path(entry["file"]).name for entry in read_licences().data if entry["package"] == "quoth"}
    assert {path.name for path in SHIPPED.iterdir() if path.suffix != ".md"} <= listed


def test_an_audit_without_a_network_says_so(tmp_path: Path) -> None:
    pytest.importorskip("pip_audit", reason="pip-audit is not installed")
    nowhere = dict.fromkeys(("HTTPS_PROXY", "https_proxy", "ALL_PROXY"), "http://127.0.0.1:9")
    command: list[str | Path] = [
        sys.executable,
        ROOT / "tools" / "supply_chain.py",
        "audit",
        "--requirements",
        ROOT / "requirements" / "weights.txt",
    ]
    environment = {**os.environ, **nowhere, "XDG_CACHE_HOME": str(tmp_path), "PIP_CACHE_DIR": str(tmp_path)}

    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=120)

    assert ran.returncode == 1
    assert ran.stdout == ""
    assert ran.stderr.startswith("pip-audit could not ask: requests.exceptions.")
    assert "needs the network" in ran.stderr


def answering(folder: Path, *dependencies: Mapping[str, object]) -> list[str]:
    """A command that answers as pip-audit does."""
    script = folder / "answer.py"
    script.write_text(f"print({json.dumps({'dependencies': dependencies})!r})\n", encoding="utf-8")
    return [sys.executable, str(script)]


def test_an_audit_does_not_pass_over_what_nobody_knows(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    known = {"name": "one", "version": "1.0", "vulns": []}
    assert audit([], command=answering(tmp_path, known)) == 0
    assert audit([], command=answering(tmp_path, known, {"name": "two", "skip_reason": "not found"})) == 1
    assert "1 of 2 packages could not be asked about: not found" in capsys.readouterr().err


def test_an_audit_names_each_vulnerability_and_what_fixes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flaw = {"id": "PYSEC-2026-1", "fix_versions": ["1.1"]}
    assert audit([], command=answering(tmp_path, {"name": "one", "version": "1.0", "vulns": [flaw]})) == 1
    assert capsys.readouterr().out.startswith("one 1.0: PYSEC-2026-1, fixed in 1.1\n")
