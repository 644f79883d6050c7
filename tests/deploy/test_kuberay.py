"""The manifests for KubeRay: pods that are valid and hardened, one version of Ray everywhere, commands that exist."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import kubernetes_validate  # type: ignore[import-untyped]
import pytest
import typer.main
import yaml

from deploy.manifests import ROOT, Manifest, read
from quoth import __version__
from quoth.cli import make_app
from quoth.cluster import serving
from quoth.overrides import environment_settings, with_strings, with_values
from quoth.settings import Settings

HOME = ROOT / "deploy" / "kuberay"
FOLDERS = ("base", "service", "jobs")
VERSIONS = ("1.30", "1.32", kubernetes_validate.latest_version())


def everything() -> list[Manifest]:
    """What the folders hold, as it stands in the files."""
    return [
        one
        for folder in FOLDERS
        for name in read(HOME / folder / "kustomization.yaml")[0]["resources"]
        if not (HOME / folder / name).is_dir()
        for one in read(HOME / folder / name)
    ]


def of_kind(kind: str) -> dict[str, Manifest]:
    return {one["metadata"]["name"]: one for one in everything() if one["kind"] == kind}


def clusters() -> dict[str, Manifest]:
    """The Ray clusters that are described, by the name of what describes them."""
    services = {name: one["spec"]["rayClusterConfig"] for name, one in of_kind("RayService").items()}
    return services | {name: one["spec"]["rayClusterSpec"] for name, one in of_kind("RayJob").items()}


def pods() -> list[Any]:
    """The template of every pod: of heads and of workers."""
    return [
        pytest.param(group["template"], id=f"{name}-{group.get('groupName', 'head')}")
        for name, cluster in clusters().items()
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])
    ]


def containers(template: Manifest) -> list[Manifest]:
    return [*template["spec"].get("initContainers", ()), *template["spec"]["containers"]]


def test_no_manifest_is_forgotten() -> None:
    listed = {
        (HOME / folder / name).resolve()
        for folder in FOLDERS
        for name in read(HOME / folder / "kustomization.yaml")[0]["resources"]
    }
    files = {path for path in HOME.rglob("*.yaml") if path.name != "kustomization.yaml"}

    assert files == {path for path in listed if path.is_file()}


@pytest.mark.parametrize("version", VERSIONS)
def test_what_is_no_custom_resource_is_valid(version: str) -> None:
    for one in everything():
        if not one["apiVersion"].startswith("ray.io/"):
            kubernetes_validate.validate(one, version, strict=True)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("template", pods())
def test_the_pods_inside_the_custom_resources_are_valid(template: Manifest, version: str) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "one", **template["metadata"]}}

    kubernetes_validate.validate(pod | {"spec": template["spec"]}, version, strict=True)


def test_everything_is_in_the_hardened_namespace() -> None:
    assert {one["metadata"].get("namespace") for one in everything() if one["kind"] != "Namespace"} == {"quoth"}
    assert read(HOME / "base" / "namespace.yaml") == read(ROOT / "deploy" / "kubernetes" / "base" / "namespace.yaml")


@pytest.mark.parametrize("template", pods())
def test_a_pod_can_do_no_more_than_it_must(template: Manifest) -> None:
    spec = template["spec"]

    context = spec["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"], context["fsGroup"]) == (True, 10001, 10001)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert spec["enableServiceLinks"] is False
    for container in containers(template):
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert set(container["resources"]) == {"requests", "limits"}


def test_only_the_head_of_the_service_talks_to_kubernetes() -> None:
    with_token = {
        (name, group.get("groupName"))
        for name, cluster in clusters().items()
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])
        if group["template"]["spec"]["automountServiceAccountToken"]
    }

    assert with_token == {("quoth", None)}
    service = clusters()["quoth"]
    (head,) = service["headGroupSpec"]["template"]["spec"]["containers"]
    assert service["autoscalerOptions"]["securityContext"] == head["securityContext"]


@pytest.mark.parametrize("template", pods())
def test_a_pod_mounts_what_it_has_and_can_write_where_ray_does(template: Manifest) -> None:
    volumes = {volume["name"] for volume in template["spec"]["volumes"]}
    mounted = {mount["name"] for container in containers(template) for mount in container["volumeMounts"]}
    (ray,) = template["spec"]["containers"]

    assert mounted == volumes
    assert {"/tmp", "/dev/shm", settings()["QUOTH_CACHE_DIR"]} <= {  # noqa: S108 - inside a container
        mount["mountPath"] for mount in ray["volumeMounts"] if not mount.get("readOnly")
    }


def settings() -> dict[str, str]:
    found: dict[str, str] = of_kind("ConfigMap")["quoth-ray-settings"]["data"]
    return found


def test_the_settings_exist_and_their_values_are_allowed() -> None:
    with_strings(Settings(), environment_settings(settings()), source="settings.yaml")


@pytest.mark.parametrize("template", pods())
def test_credentials_come_from_a_secret(template: Manifest) -> None:
    (ray,) = template["spec"]["containers"]

    assert ray["envFrom"] == [
        {"configMapRef": {"name": "quoth-ray-settings"}},
        {"secretRef": {"name": "quoth-objects"}},
    ]
    assert not [name for name in settings() if re.search(r"SECRET|TOKEN|ACCESS_KEY", name)]
    assert not of_kind("Secret")


def test_the_secrets_that_pods_need_are_told_in_the_guide() -> None:
    guide = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
    needed = {"quoth-objects"} | {
        volume["secret"]["secretName"]
        for template in pods()
        for volume in template.values[0]["spec"]["volumes"]
        if "secret" in volume
    }

    for name in needed:
        assert f"create secret generic {name} " in guide, name


def test_claims_and_accounts_that_pods_need_are_made_here() -> None:
    made = {(one["kind"], one["metadata"]["name"]) for one in everything()}

    for template in pods():
        spec = template.values[0]["spec"]
        assert ("ServiceAccount", spec["serviceAccountName"]) in made
        claims = [one["persistentVolumeClaim"] for one in spec["volumes"] if "persistentVolumeClaim" in one]
        assert {("PersistentVolumeClaim", claim["claimName"]) for claim in claims} <= made


def test_the_keys_are_mounted_as_a_folder() -> None:
    """A file that is mounted by itself never changes, and a key that is revoked would go on to work."""
    (group,) = clusters()["quoth"]["workerGroupSpecs"]
    (ray,) = group["template"]["spec"]["containers"]
    mounts = {mount["name"]: mount for mount in ray["volumeMounts"]}
    service = with_values(Settings(), application()["args"]["settings"], source="service.yaml").service

    assert service.keys == f"{mounts['keys']['mountPath']}/keys.json"
    assert service.state == mounts["state"]["mountPath"]
    assert not [mount for mount in mounts.values() if "subPath" in mount]


def application() -> Manifest:
    """What the service hands to Ray Serve."""
    found: list[Manifest] = yaml.safe_load(of_kind("RayService")["quoth"]["spec"]["serveConfigV2"])["applications"]
    (one,) = found
    return one


def test_the_service_takes_the_arguments_that_it_is_given() -> None:
    """The builder names the first argument that it does not know: of these, only the one that is in no manifest."""
    code = "import sys; from quoth.cluster.serving import app; app({name: None for name in sys.argv[1:]})"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code, "~nothing", *application()["args"]],
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )

    assert "unknown argument '~nothing'" in done.stderr, done.stderr


def test_the_version_of_ray_is_that_of_the_image() -> None:
    lock = (ROOT / "requirements" / "image.txt").read_text(encoding="utf-8")
    (locked,) = re.findall(r"^ray==(\S+)", lock, re.MULTILINE)

    assert {name: cluster["rayVersion"] for name, cluster in clusters().items()} == dict.fromkeys(clusters(), locked)


def test_the_image_is_that_of_the_other_manifests() -> None:
    """Kustomize names it in every container that calls it `quoth`, in custom resources too."""
    assert {one["image"] for template in pods() for one in containers(template.values[0])} == {"quoth"}
    for folder in ("service", "jobs"):
        (component,) = read(HOME / folder / "kustomization.yaml")[0]["components"]
        (image,) = read(HOME / folder / component / "kustomization.yaml")[0]["images"]
        named = (image["name"], f"{image['newName']}:{image['newTag']}")
        assert named == ("quoth", f"registry.example.com/quoth:{__version__}")


@pytest.mark.parametrize("name", list(clusters()))
def test_the_head_does_no_work_and_asks_for_a_token(name: str) -> None:
    cluster = clusters()[name]

    assert cluster["headGroupSpec"]["rayStartParams"]["num-cpus"] == "0"
    assert cluster["authOptions"] == {"mode": "token"}
    for group in cluster["workerGroupSpecs"]:
        assert 1 <= group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]


@pytest.mark.parametrize("template", pods())
def test_the_object_store_has_room_in_shared_memory(template: Manifest) -> None:
    (given,) = {
        group["rayStartParams"]["object-store-memory"]
        for cluster in clusters().values()
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])
        if group["template"] == template
    }
    (room,) = (one["emptyDir"]["sizeLimit"] for one in template["spec"]["volumes"] if one["name"] == "shm")

    assert int(given) < _bytes(room) < _bytes(template["spec"]["containers"][0]["resources"]["limits"]["memory"])


def _bytes(amount: str) -> int:
    return int(amount[:-2]) * {"Mi": 2**20, "Gi": 2**30}[amount[-2:]]


def test_ray_can_read_what_it_is_to_serve() -> None:
    """In a process of its own: Ray's warnings are no business of these tests."""
    source = of_kind("RayService")["quoth"]["spec"]["serveConfigV2"]
    code = (
        "import json, sys, yaml\n"
        "from ray.serve.schema import ServeDeploySchema\n"
        "read = ServeDeploySchema.model_validate(yaml.safe_load(sys.stdin.read()))\n"
        "print(json.dumps([[one.name, one.route_prefix, one.import_path, one.args] for one in read.applications]))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code],
        input=source,
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )

    assert done.returncode == 0, done.stderr
    [[name, prefix, path, arguments]] = json.loads(done.stdout.splitlines()[-1])
    assert (name, prefix, path) == ("quoth", "/", "quoth.cluster.serving:app")
    assert arguments["cluster"].startswith("s3://")
    assert yaml.safe_load(source).keys() <= {"proxy_location", "http_options", "applications"}


def test_the_service_and_the_jobs_mean_the_same_index() -> None:
    ingest, batch = (shlex.split(of_kind("RayJob")[f"quoth-cluster-{what}"]["spec"]["entrypoint"]) for what in WORK)

    assert application()["args"]["cluster"] == ingest[ingest.index("--output") + 1] == batch[batch.index("--index") + 1]


def test_the_pods_hold_every_replica_of_every_shard() -> None:
    words = shlex.split(of_kind("RayJob")["quoth-cluster-ingest"]["spec"]["entrypoint"])
    shards = int(words[words.index("--shards") + 1])
    given = application()["args"]
    (group,) = clusters()["quoth"]["workerGroupSpecs"]
    a_pod = int(int(group["rayStartParams"]["num-cpus"]) / serving._CPUS)

    for replicas, pods_at_hand in (("replicas", "minReplicas"), ("max_replicas", "maxReplicas")):
        assert given[replicas] <= group[pods_at_hand]  # no two of one shard on one pod
        assert given[replicas] * (shards + 1) <= group[pods_at_hand] * a_pod


WORK = ("ingest", "batch")


@pytest.mark.parametrize("what", WORK)
def test_the_command_of_a_job_exists_with_its_options(what: str) -> None:
    program, group, name, *rest = shlex.split(of_kind("RayJob")[f"quoth-cluster-{what}"]["spec"]["entrypoint"])
    known: Any = typer.main.get_command(make_app())
    command = known.commands[group].commands[name]
    options = {spelling: one for one in command.params for spelling in (*one.opts, *one.secondary_opts)}
    words = iter(rest)
    given = []
    for word in words:
        if word.startswith("-"):
            assert word in options, word
            if not options[word].is_flag:
                next(words)
        else:
            given.append(word)

    assert (program, group, name) == ("quoth", "cluster", what)
    assert len(given) == 1


@pytest.mark.parametrize("what", WORK)
def test_a_job_mounts_the_files_that_its_command_names(what: str) -> None:
    words = shlex.split(of_kind("RayJob")[f"quoth-cluster-{what}"]["spec"]["entrypoint"])
    (head,) = clusters()[f"quoth-cluster-{what}"]["headGroupSpec"]["template"]["spec"]["containers"]
    mounts = {mount["mountPath"] for mount in head["volumeMounts"]}

    named = {Path(word).parts[1] for word in words if word.startswith("/")}
    assert {f"/{part}" for part in named} <= mounts


def test_a_job_has_a_core_for_each_of_its_workers() -> None:
    for name, one in of_kind("RayJob").items():
        words = shlex.split(one["spec"]["entrypoint"])
        (group,) = clusters()[name]["workerGroupSpecs"]
        (ray,) = group["template"]["spec"]["containers"]

        assert int(words[words.index("--workers") + 1]) <= group["replicas"] * int(ray["resources"]["limits"]["cpu"])


def test_the_nodes_reach_each_other_and_object_storage() -> None:
    policy = of_kind("NetworkPolicy")["quoth-ray"]["spec"]
    labels = policy["podSelector"]["matchLabels"]
    among = {"podSelector": {"matchLabels": labels}}

    for template in pods():
        assert labels.items() <= template.values[0]["metadata"]["labels"].items()
    assert [among] in [way["from"] for way in policy["ingress"]]
    assert [among] in [way["to"] for way in policy["egress"]]
    assert all(way["from"] for way in policy["ingress"])
    assert all(way["to"] for way in policy["egress"])


@contextmanager
def answering(statuses: dict[str, int]) -> Iterator[int]:
    """The port of a server on this machine that answers paths with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(statuses.get(self.path, 404))
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


RAYLET, GCS, PROXY = "/api/local_raylet_healthz", "/api/gcs_healthz", "/-/healthz"


def test_a_probe_fails_when_one_of_the_places_it_asks_does() -> None:
    worker = next(one.values[0] for one in pods() if one.id == "quoth-shards")
    command = worker["spec"]["containers"][0]["readinessProbe"]["exec"]["command"]

    with answering({RAYLET: 200, PROXY: 200}) as port:
        assert _ready(command, port)
    with answering({RAYLET: 200, PROXY: 503}) as port:
        assert not _ready(command, port)
    assert not _ready(command, port)


def _ready(command: list[str], port: int) -> bool:
    assert command[0] == "python"
    words = [re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{port}", word) for word in command[1:]]
    return subprocess.run([sys.executable, *words], capture_output=True, check=False, timeout=60).returncode == 0


def test_probes_ask_what_answers_on_such_a_node() -> None:
    asked = {
        (name, group.get("groupName"), kind): [
            word.partition("127.0.0.1:")[2]
            for word in group["template"]["spec"]["containers"][0][f"{kind}Probe"]["exec"]["command"]
            if word.startswith("http")
        ]
        for name, cluster in clusters().items()
        for group in (cluster["headGroupSpec"], *cluster["workerGroupSpecs"])
        for kind in ("readiness", "liveness")
    }

    for (name, group, kind), places in asked.items():
        expected = [f"52365{RAYLET}"] + ([f"8265{GCS}"] if group is None else [])
        assert places == expected + (
            [f"8000{PROXY}"] if (name, group, kind) == ("quoth", "shards", "readiness") else []
        )
