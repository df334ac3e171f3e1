"""What is installed fits together, and fits the code: ports, names, flags, rights."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import click
import pytest
import yaml

from extender.cli.main import cli
from extender.runtime import embed
from extender.settings import HttpSettings, Part, Settings, TlsSettings, http_settings
from extender.web.app import build_app
from extender.wire.admission_pods import OPT_OUT_LABEL, OPT_OUT_VALUE
from tests.builders import Json

ROOT: Final = Path(__file__).parents[2]
MANIFESTS: Final = ROOT / "manifests"
BASE: Final = MANIFESTS / "base"
JOB: Final = MANIFESTS / "components" / "generated-certificate" / "job.yaml"
WORKLOADS: Final = (BASE / "deployment.yaml", JOB)


def documents(path: Path) -> list[Json]:
    """Read a file."""
    return [each for each in yaml.safe_load_all(path.read_text()) if each]


def pod_of(path: Path) -> Json:
    """Read the pod template of a file's only workload."""
    (workload,) = documents(path)
    template: Json = workload["spec"]["template"]
    return template


def container(name: str) -> Json:
    """Read a container of the Deployment."""
    containers = pod_of(BASE / "deployment.yaml")["spec"]["containers"]
    (found,) = [each for each in containers if each["name"] == name]
    return dict(found)


def parsed(words: list[str]) -> dict[str, Any]:
    """Have the command line read a container's arguments."""
    name, *arguments = words
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return command.make_context(name, arguments).params


def given() -> HttpSettings:
    """Put the addresses together as serve does."""
    options = parsed(container("extender")["args"])
    return http_settings(
        options["listen"],
        TlsSettings(cert_file=options["tls_cert"], key_file=options["tls_key"]),
        webhook_listen=options["webhook_listen"],
        metrics_listen=options["metrics_listen"],
        is_plain_allowed=options["is_plain_allowed"],
        has_plain_verbs=options["has_plain_verbs"],
    )


def kube_scheduler() -> Json:
    """Read the scheduler's configuration."""
    (found,) = documents(ROOT / "config" / "kube-scheduler.yaml")
    return found


def test_scheduler_asks_where_the_extender_listens() -> None:
    """In plain HTTP on loopback, under the name that the webhook writes."""
    (asked,) = kube_scheduler()["extenders"]
    verbs = next(given().listeners())
    assert asked["urlPrefix"] == f"http://{verbs.address}"
    assert verbs.tls is None
    names = [each["schedulerName"] for each in kube_scheduler()["profiles"]]
    assert [*parsed(container("extender")["args"])["scheduler_names"]] == names


def test_ports_are_those_that_are_listened_on() -> None:
    """Of the container, of the Service and of the webhooks."""
    listeners = {part: each for each in given().listeners() for part in each.parts}
    ports = {
        each["name"]: each["containerPort"] for each in container("extender")["ports"]
    }
    assert ports == {
        "webhook": listeners[Part.WEBHOOK].address.port,
        "metrics": listeners[Part.METRICS].address.port,
    }
    (service,) = documents(BASE / "service.yaml")
    shown = {each["port"]: each["targetPort"] for each in service["spec"]["ports"]}
    assert {*shown.values()} == {*ports}
    for configuration in documents(BASE / "webhook.yaml"):
        for webhook in configuration["webhooks"]:
            asked = webhook["clientConfig"]["service"]
            assert (asked["name"], asked["namespace"]) == (
                service["metadata"]["name"],
                service["metadata"]["namespace"],
            )
            assert shown[asked["port"]] == "webhook"


def test_probes_ask_routes_that_are_there() -> None:
    """On the listener of their port, by its scheme."""
    embedded = embed([ROOT / "config" / "example-cluster.yaml"], Settings())
    (listener,) = [each for each in given().listeners() if Part.METRICS in each.parts]
    app = build_app(embedded.extender, given(), None, listener)
    routes = {each.canonical for each in app.router.resources()}
    for probe in ("livenessProbe", "readinessProbe"):
        asked = container("extender")[probe]["httpGet"]
        assert asked["path"] in routes
        assert asked["port"] == "metrics"
        assert (asked["scheme"] == "HTTPS") == (listener.tls is not None)


def test_network_policy_lets_in_every_port() -> None:
    """And none that is not there."""
    (policy,) = documents(BASE / "networkpolicy.yaml")
    let_in = {
        port["port"] for rule in policy["spec"]["ingress"] for port in rule["ports"]
    }
    pod = pod_of(BASE / "deployment.yaml")
    ports = {
        port["name"] for each in pod["spec"]["containers"] for port in each["ports"]
    }
    assert let_in == ports
    selected = policy["spec"]["podSelector"]["matchLabels"].items()
    assert selected <= pod["metadata"]["labels"].items()
    assert selected <= pod_of(JOB)["metadata"]["labels"].items()


def mounts() -> Iterator[tuple[str, str]]:
    """Give each mounted path with what is mounted there."""
    pod = pod_of(BASE / "deployment.yaml")["spec"]
    sources = {
        each["name"]: each.get("configMap", {}).get("name")
        or each["secret"]["secretName"]
        for each in pod["volumes"]
    }
    for each in pod["containers"]:
        for mount in each["volumeMounts"]:
            assert mount["readOnly"]
            yield mount["mountPath"], sources[mount["name"]]


def test_files_that_are_named_are_mounted() -> None:
    """Each file of a flag or of the scheduler's configuration, from its ConfigMap."""
    (made,) = documents(ROOT / "config" / "kustomization.yaml")
    keys = {each["name"]: each["files"] for each in made["configMapGenerator"]}
    (kubeconfig,) = documents(BASE / "kubeconfig.yaml")
    keys[kubeconfig["metadata"]["name"]] = [*kubeconfig["data"]]
    keys["gpu-extender-tls"] = ["tls.crt", "tls.key", "ca.crt"]
    there = {f"{path}/{key}" for path, source in mounts() for key in keys[source]}
    arguments = [*container("extender")["args"], *container("kube-scheduler")["args"]]
    named = {
        value
        for _, _, value in (each.partition("=") for each in arguments)
        if value.startswith("/")
    }
    named.add(kube_scheduler()["clientConnection"]["kubeconfig"])
    assert len(named) == 5
    assert named <= there
    assert all(
        (ROOT / "config" / key).is_file()
        for key in made["configMapGenerator"][0]["files"]
    )


def test_lease_of_the_leader_is_the_one_that_may_be_taken() -> None:
    """By name and namespace."""
    election = kube_scheduler()["leaderElection"]
    (role,) = [
        each
        for each in documents(BASE / "scheduler-rbac.yaml")
        if each["metadata"]["name"] == "gpu-extender-leader-election"
        and each["kind"] == "Role"
    ]
    assert role["metadata"]["namespace"] == election["resourceNamespace"]
    _, by_name = role["rules"]
    assert by_name["resourceNames"] == [election["resourceName"]]


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_containers_may_do_nothing(path: Path) -> None:
    """Not root, nothing written, no capability, no limit of CPU that slows a burst."""
    pod = pod_of(path)["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    for each in pod["containers"]:
        assert each["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert {*each["resources"]["requests"]} == {"cpu", "memory"}
        assert {*each["resources"]["limits"]} == {"memory"}


@pytest.mark.parametrize("path", WORKLOADS, ids=lambda path: path.stem)
def test_webhook_never_stops_our_own_pods(path: Path) -> None:
    """They opt out, their namespace does, and the default scheduler places them."""
    pod = pod_of(path)
    assert pod["metadata"]["labels"][OPT_OUT_LABEL] == OPT_OUT_VALUE
    assert pod["spec"]["schedulerName"] == "default-scheduler"
    (workload,) = documents(path)
    for configuration in documents(BASE / "webhook.yaml"):
        for webhook in configuration["webhooks"]:
            (left_alone,) = [
                each["values"]
                for each in webhook["namespaceSelector"]["matchExpressions"]
                if each["key"] == "kubernetes.io/metadata.name"
            ]
            assert workload["metadata"]["namespace"] in left_alone


def test_job_makes_what_is_mounted_and_asked_for() -> None:
    """Its flags name the Secret, the Service and the configurations."""
    (job,) = pod_of(JOB)["spec"]["containers"]
    options = parsed(job["args"])
    (service,) = documents(BASE / "service.yaml")
    name, namespace = service["metadata"]["name"], service["metadata"]["namespace"]
    assert options["dns_names"] == (f"{name}.{namespace}.svc",)
    assert options["namespace"] == namespace
    assert options["secret"] in {source for _, source in mounts()}
    configured = {each["metadata"]["name"] for each in documents(BASE / "webhook.yaml")}
    assert configured == {options["webhook"]}
    (certificate,) = [
        each
        for each in documents(MANIFESTS / "components/cert-manager/certificate.yaml")
        if each["kind"] == "Certificate"
    ]
    assert certificate["spec"]["dnsNames"] == [*options["dns_names"]]
    assert certificate["spec"]["secretName"] == options["secret"]


def test_job_may_change_what_it_makes_alone() -> None:
    """By name; what serves has no right to a Secret or a webhook."""
    (job,) = pod_of(JOB)["spec"]["containers"]
    options = parsed(job["args"])
    made = {options["secret"], options["webhook"]}
    rules = [
        rule
        for each in documents(JOB.with_name("rbac.yaml"))
        for rule in each.get("rules", [])
    ]
    assert {name for rule in rules for name in rule.get("resourceNames", [])} == made
    unnamed = [rule for rule in rules if "resourceNames" not in rule]
    assert [rule["verbs"] for rule in unnamed] == [["create"]]
    changed = {name for rule in rules for name in rule["resources"]}
    serving = {
        name
        for each in documents(BASE / "rbac.yaml")
        for rule in each.get("rules", [])
        for name in rule["resources"]
    }
    assert serving
    assert not changed & serving


def test_healthcheck_asks_where_health_is_served() -> None:
    """The image's own command finds it without arguments."""
    (health,) = [each for each in given().listeners() if Part.METRICS in each.parts]
    (variable,) = container("extender")["env"]
    assert health.tls is not None
    assert variable["value"] == f"https://127.0.0.1:{health.address.port}"
    command = cli.get_command(click.Context(cli), "health")
    assert command is not None
    assert variable["name"] in {each.envvar for each in command.params}


def test_pods_are_of_the_image_that_is_built() -> None:
    """By its user, its command, and the name that docs/image.md gives it."""
    dockerfile = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "image.md").read_text(encoding="utf-8")
    (job,) = pod_of(JOB)["spec"]["containers"]
    for path, each in ((JOB, job), (BASE / "deployment.yaml", container("extender"))):
        security = pod_of(path)["spec"]["securityContext"]
        user, group = security["runAsUser"], security["runAsGroup"]
        assert f"\nUSER {user}:{group}\n" in dockerfile
        assert f"\nENTRYPOINT {json.dumps(each['command'])}\n" in dockerfile
        assert f"docker build --tag {each['image']} " in page


def test_images_have_the_version_of_the_project() -> None:
    """No image is published; the name stands for one that is built."""
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    (job,) = pod_of(JOB)["spec"]["containers"]
    for each in (job, container("extender")):
        name, _, version = each["image"].partition(":")
        assert name == "gpu-extender"
        assert f'version = "{version}"' in project
    (chart,) = documents(MANIFESTS / "chart" / "gpu-extender" / "Chart.yaml")
    assert f'version = "{chart["appVersion"]}"' in project
    assert chart["version"] == chart["appVersion"]


def test_defaults_of_the_flags_are_ours() -> None:
    """The Deployment says them outright, since the chart puts values there."""
    options = parsed(container("extender")["args"])
    bare = parsed(["serve"])
    for name in ("node_policy", "device_policy", "force_overwrite_default_scheduler"):
        assert options[name] == bare[name]
