"""Kubernetes manifests as `kubectl apply -k` sends them: enough of kustomize for the files in deploy/kubernetes."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / "deploy" / "kubernetes"
OVERLAYS = ("embedded", "postgres", "embedded/jobs", "postgres/jobs")

Manifest = dict[str, Any]
_KNOWN = {"apiVersion", "kind", "namespace", "resources", "components", "patches"}


def rendered(folder: Path) -> list[Manifest]:
    """The resources of a kustomization, patched and with the images that its component names."""
    content = _one(folder / "kustomization.yaml")
    if unknown := set(content) - _KNOWN:
        raise ValueError(f"{folder}: {unknown} is not understood here")
    found: list[Manifest] = []
    for name in content["resources"]:
        place = folder / name
        found += rendered(place.resolve()) if place.is_dir() else read(place)
    for patch in content.get("patches", ()):
        target = patch["target"]
        (one,) = (one for one in found if one["kind"] == target["kind"] and one["metadata"]["name"] == target["name"])
        for operation in yaml.safe_load(patch["patch"]):
            _apply(one, operation)
    for component in content.get("components", ()):
        images = _one(folder / component / "kustomization.yaml")["images"]
        names = {image["name"]: f"{image['newName']}:{image['newTag']}" for image in images}
        for container in (container for one in found for container in containers(one)):
            container["image"] = names.get(container["image"], container["image"])
    return found


def read(path: Path) -> list[Manifest]:
    documents = yaml.load_all(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)  # ten times as fast
    return [document for document in documents if document]


def _one(path: Path) -> Mapping[str, Any]:
    (content,) = read(path)
    return content


def _apply(resource: Manifest, operation: Mapping[str, Any]) -> None:
    """An `add` of JSON Patch; nothing else is used."""
    if operation["op"] != "add":
        raise ValueError(f"{operation['op']} is not understood here")
    *way, last = operation["path"].strip("/").split("/")
    place: Any = resource
    for step in way:
        place = place[int(step)] if isinstance(place, list) else place[step]
    if isinstance(place, list):
        if last != "-":
            raise ValueError(f"{operation['path']} is not understood here")
        place.append(copy.deepcopy(operation["value"]))
    elif last in place:
        raise ValueError(f"{operation['path']} would replace what is there")
    else:
        place[last] = copy.deepcopy(operation["value"])


def pod(resource: Manifest) -> Manifest | None:
    """What a resource says of its pods; None when it makes none."""
    template = resource.get("spec", {}).get("template")
    return template["spec"] if template else None


def containers(resource: Manifest) -> Iterator[Manifest]:
    spec = pod(resource)
    if spec is not None:
        yield from spec.get("initContainers", ())
        yield from spec["containers"]


def seen_by(container: Manifest, settings: Mapping[str, str]) -> dict[str, str]:
    """The variables of a container whose values are in the manifests; `settings` are those of the ConfigMap."""
    found = dict(settings) if container.get("envFrom") else {}
    return found | {one["name"]: one["value"] for one in container.get("env", ()) if "value" in one}
