"""The manifests: valid for every version of Kubernetes that is in use, hardened, and fitting together."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest

from deploy.manifests import HOME, OVERLAYS, ROOT, Manifest, containers, pod, read, rendered
from quoth import __version__
from quoth.errors import SettingsError
from quoth.overrides import environment_settings
from quoth.settings import ServiceSettings

VERSIONS = ("1.30", "1.32", kubernetes_validate.latest_version())


@lru_cache
def overlay(name: str) -> tuple[Manifest, ...]:
    return tuple(rendered(HOME / name))


def everything() -> list[Manifest]:
    return [one for name in OVERLAYS for one in overlay(name)]


def named(kind: str, name: str, within: str) -> Manifest:
    (one,) = (one for one in overlay(within) if (one["kind"], one["metadata"]["name"]) == (kind, name))
    return one


def with_pods() -> list[Any]:
    return [
        pytest.param(one, id=f"{name}-{one['metadata']['name']}")
        for name in OVERLAYS
        for one in overlay(name)
        if pod(one)
    ]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", OVERLAYS)
def test_every_manifest_is_valid(name: str, version: str) -> None:
    for one in overlay(name):
        kubernetes_validate.validate(one, version, strict=True)


def test_no_manifest_is_forgotten() -> None:
    listed = {
        (folder / name).resolve()
        for folder in (HOME / "base", *(HOME / name for name in OVERLAYS))
        for name in read(folder / "kustomization.yaml")[0]["resources"]
    }
    files = {path for path in HOME.rglob("*.yaml") if path.name != "kustomization.yaml"}

    assert files == {path for path in listed if path.is_file()}


def test_everything_is_in_one_namespace() -> None:
    assert {one["metadata"].get("namespace") for one in everything() if one["kind"] != "Namespace"} == {"quoth"}
    assert named("Namespace", "quoth", "embedded")["metadata"]["labels"] == {
        "pod-security.kubernetes.io/enforce": "restricted"
    }


@pytest.mark.parametrize("resource", with_pods())
def test_a_pod_can_do_no_more_than_it_must(resource: Manifest) -> None:
    spec = pod(resource)

    assert spec is not None
    context = spec["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"], context["fsGroup"]) == (True, 10001, 10001)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["automountServiceAccountToken"] is False
    assert not {"hostNetwork", "hostPID", "hostIPC"} & set(spec)
    assert not [volume for volume in spec["volumes"] if "hostPath" in volume]
    for container in containers(resource):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert set(container["resources"]) == {"requests", "limits"}


@pytest.mark.parametrize("resource", with_pods())
def test_a_pod_mounts_what_it_has_and_can_write_to_tmp(resource: Manifest) -> None:
    spec = pod(resource)

    assert spec is not None
    volumes = {volume["name"] for volume in spec["volumes"]}
    mounted = {mount["name"] for container in containers(resource) for mount in container.get("volumeMounts", ())}
    assert mounted == volumes
    for container in spec["containers"]:
        assert "/tmp" in [mount["mountPath"] for mount in container["volumeMounts"]]  # noqa: S108 - inside a container


@pytest.mark.parametrize("resource", with_pods())
def test_a_pod_gets_no_variables_that_would_be_taken_for_settings(resource: Manifest) -> None:
    """The Service `quoth` would bring QUOTH_SERVICE_HOST, and an unknown variable with our prefix is an error."""
    spec = pod(resource)

    assert spec is not None
    assert spec["enableServiceLinks"] is False
    with pytest.raises(SettingsError):
        environment_settings({"QUOTH_SERVICE_HOST": "10.0.0.1"})


@pytest.mark.parametrize("resource", with_pods())
def test_every_image_is_of_this_version(resource: Manifest) -> None:
    assert {one["image"] for one in containers(resource)} == {f"registry.example.com/quoth:{__version__}"}


def test_what_pods_refer_to_is_made_here_or_told_in_the_guide() -> None:
    made = {(one["kind"], one["metadata"]["name"]) for one in everything()}
    guide = (ROOT / "docs" / "deployment.md").read_text(encoding="utf-8")

    for kind, name in set(_references(everything())):
        if kind == "Secret":
            assert re.search(rf"kubectl .*create secret generic {name} ", guide), name
        else:
            assert (kind, name) in made, name


def _references(value: Any) -> list[tuple[str, str]]:  # noqa: ANN401 - any part of a manifest
    if isinstance(value, list | tuple):
        return [found for one in value for found in _references(one)]
    if not isinstance(value, dict):
        return []
    found = [reference for one in value.values() for reference in _references(one)]
    if "claimName" in value:
        found.append(("PersistentVolumeClaim", value["claimName"]))
    if "secretName" in value:
        found.append(("Secret", value["secretName"]))
    if "serviceAccountName" in value:
        found.append(("ServiceAccount", value["serviceAccountName"]))
    kinds = {"configMapRef": "ConfigMap", "configMapKeyRef": "ConfigMap", "secretKeyRef": "Secret"}
    return found + [(kind, value[key]["name"]) for key, kind in kinds.items() if key in value]


def test_no_secret_is_in_the_repository() -> None:
    assert "Secret" not in {one["kind"] for one in everything()}
    addresses = named("ConfigMap", "quoth-database", "postgres")["data"].values()
    assert all(re.match(r"postgresql://\w+@", address) for address in addresses)


@pytest.mark.parametrize("name", ["embedded", "postgres"])
def test_the_service_runs_three_times_and_grows_to_ten(name: str) -> None:
    deployment = named("Deployment", "quoth", name)
    scaler = named("HorizontalPodAutoscaler", "quoth", name)
    (container,) = deployment["spec"]["template"]["spec"]["containers"]

    assert deployment["spec"]["replicas"] == scaler["spec"]["minReplicas"] == 3
    assert scaler["spec"]["maxReplicas"] == 10
    assert scaler["spec"]["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert container["resources"] == {
        "requests": {"cpu": "2", "memory": "2Gi"},
        "limits": {"cpu": "4", "memory": "4Gi"},
    }


def test_the_same_pods_are_meant_everywhere() -> None:
    deployment = named("Deployment", "quoth", "embedded")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    spread = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]

    assert deployment["spec"]["selector"]["matchLabels"] == labels
    assert named("Service", "quoth", "embedded")["spec"]["selector"] == labels
    assert named("PodDisruptionBudget", "quoth", "embedded")["spec"]["selector"]["matchLabels"] == labels
    assert [one["labelSelector"]["matchLabels"] for one in spread] == [labels, labels]


def test_a_job_is_never_taken_for_the_service() -> None:
    service = named("Service", "quoth", "embedded")["spec"]["selector"]

    for one in (one for one in everything() if one["kind"] == "Job"):
        assert not service.items() <= one["spec"]["template"]["metadata"]["labels"].items()
        # The network policies are for jobs too.
        assert one["spec"]["template"]["metadata"]["labels"]["app.kubernetes.io/name"] == "quoth"


def test_probes_ask_what_the_service_answers() -> None:
    (container,) = named("Deployment", "quoth", "embedded")["spec"]["template"]["spec"]["containers"]

    asked = {name: container[f"{name}Probe"]["httpGet"] for name in ("startup", "readiness", "liveness")}
    assert asked == {
        "startup": {"path": "/healthz", "port": "http"},
        "readiness": {"path": "/readyz", "port": "http"},
        "liveness": {"path": "/healthz", "port": "http"},
    }
    (port,) = container["ports"]
    assert port["name"] == "http"
    assert str(port["containerPort"]) == container["args"][container["args"].index("--port") + 1]


def test_requests_under_way_have_time_to_end() -> None:
    spec = named("Deployment", "quoth", "embedded")["spec"]["template"]["spec"]
    settings = named("ConfigMap", "quoth-settings", "embedded")["data"]
    program, seconds = spec["containers"][0]["lifecycle"]["preStop"]["exec"]["command"]
    grace = float(settings["QUOTH_SERVICE_GRACE_SECONDS"])

    assert program == "sleep"
    assert grace == ServiceSettings().grace_seconds
    assert settings["QUOTH_SERVICE_UPLOADS"] == "false"  # else an upload under way would have as long again
    assert spec["terminationGracePeriodSeconds"] > float(seconds) + grace


def test_pods_cannot_write_to_the_index_and_the_documents() -> None:
    spec = named("Deployment", "quoth", "embedded")["spec"]["template"]["spec"]
    claims = {one["name"]: one["persistentVolumeClaim"] for one in spec["volumes"] if "persistentVolumeClaim" in one}
    index = claims["index"]["claimName"]

    assert all(claim["readOnly"] for claim in claims.values())
    assert named("PersistentVolumeClaim", index, "embedded")["spec"]["accessModes"] == ["ReadOnlyMany"]
    batch = pod(named("Job", "quoth-batch", "embedded/jobs"))
    assert batch is not None
    assert claims["index"] in [volume.get("persistentVolumeClaim") for volume in batch["volumes"]]


def test_the_keys_are_mounted_as_a_folder() -> None:
    """A file that is mounted by itself never changes, and a key that is revoked would go on to work."""
    spec = named("Deployment", "quoth", "embedded")["spec"]["template"]["spec"]
    mounts = [mount for one in spec["containers"] for mount in one["volumeMounts"]]
    (folder,) = (mount["mountPath"] for mount in mounts if mount["name"] == "keys")
    settings = named("ConfigMap", "quoth-settings", "embedded")["data"]

    assert not [mount for mount in mounts if "subPath" in mount]
    assert settings["QUOTH_SERVICE_KEYS"] == f"{folder}/keys.json"


def test_the_service_talks_to_nobody_but_its_database() -> None:
    assert named("NetworkPolicy", "quoth", "embedded")["spec"]["egress"] == []
    ways = named("NetworkPolicy", "quoth-database", "postgres")["spec"]["egress"]
    assert {port["port"] for way in ways for port in way["ports"]} == {53, 5432, 6379}
    assert all(way["to"] for way in ways)


@pytest.mark.parametrize("variant", ["embedded", "postgres"])
def test_a_job_takes_the_cores_that_it_may_use_and_not_those_of_the_node(variant: str) -> None:
    (ingest,) = containers(named("Job", "quoth-ingest", f"{variant}/jobs"))
    batch, _ = containers(named("Job", "quoth-batch", f"{variant}/jobs"))
    workers = {one["name"]: one.get("value") for one in ingest["env"]}["QUOTH_INGEST_WORKERS"]

    assert workers == ingest["resources"]["limits"]["cpu"]
    assert batch["args"][batch["args"].index("--workers") + 1] == batch["resources"]["limits"]["cpu"]


def test_only_the_owner_of_the_tables_writes() -> None:
    roles = {
        one["metadata"]["name"]: {reference for reference in _references(one) if reference[0] == "Secret"}
        for one in (*overlay("postgres"), *overlay("postgres/jobs"))
        if pod(one)
    }

    owner, reader = ("Secret", "quoth-database-owner"), ("Secret", "quoth-database-reader")
    assert {name for name, secrets in roles.items() if owner in secrets} == {"quoth-migrate", "quoth-ingest"}
    assert {name for name, secrets in roles.items() if reader in secrets} == {"quoth", "quoth-batch"}
