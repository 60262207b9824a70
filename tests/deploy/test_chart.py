"""The Helm chart, as helm renders it. Where helm is not there nothing is said of the templates but their arguments."""

import shutil
import subprocess

import pytest
import yaml

from noetl.config import SETTINGS
from tests.deploy.test_match import NOT_SETTINGS, parse
from tests.deploy.texts import CHART

HELM = shutil.which("helm")
NEEDS_HELM = pytest.mark.skipif(HELM is None, reason="needs helm")
KUBERNETES = ("--kube-version", "1.33.0")


def helm(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([HELM, *words], capture_output=True, text=True, timeout=60, check=False)


def rendered(*words: str) -> dict[tuple[str, str], dict]:
    done = helm("template", "demo", str(CHART), *KUBERNETES, *words)
    assert done.returncode == 0, done.stderr
    return {(one["kind"], one["metadata"]["name"]): one for one in yaml.safe_load_all(done.stdout) if one}


def pods(found):
    return [one["spec"]["template"]["spec"] for (kind, _), one in found.items() if kind == "Deployment"]


@NEEDS_HELM
def test_helm_finds_no_fault_with_the_chart():
    assert helm("lint", str(CHART), "--set", "server.insecure=true").returncode == 0


@NEEDS_HELM
def test_tls_is_given_up_only_in_so_many_words():
    refused = helm("template", "demo", str(CHART), *KUBERNETES)

    assert refused.returncode != 0
    assert "set server.tlsSecretName, or server.insecure=true" in refused.stderr


@NEEDS_HELM
def test_every_rendered_command_line_and_variable_is_one_that_noetl_takes():
    known = {setting.variable for setting in SETTINGS} | NOT_SETTINGS.keys()
    found = rendered("--set", "server.tlsSecretName=tls,caConfigMap=ca,workers.gpu.replicas=2")

    containers = [pod["containers"][0] for pod in pods(found)]

    assert sorted(parse(one["args"]).command.name for one in containers) == ["start"] * 3
    assert {variable["name"] for one in containers for variable in one["env"]} <= known


@NEEDS_HELM
def test_pods_are_confined_and_end_after_their_drain():
    for pod in pods(rendered("--set", "server.insecure=true")):
        (container,) = pod["containers"]
        drain = int(container["args"][container["args"].index("--drain") + 1]) if "--drain" in container["args"] else 60

        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        assert container["securityContext"] == {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        }
        assert pod["terminationGracePeriodSeconds"] > drain


@NEEDS_HELM
def test_a_worker_gets_neither_the_database_nor_the_key_nor_the_token_of_an_administrator():
    found = rendered("--set", "server.insecure=true")
    pod = found["Deployment", "demo-worker-default"]["spec"]["template"]["spec"]

    names = {variable["name"] for variable in pod["containers"][0]["env"]}
    (secret,) = [volume["secret"] for volume in pod["volumes"] if "secret" in volume]

    assert not names & {"NOETL_STORE_URL", "NOETL_MASTER_KEY"}
    assert [item["key"] for item in secret["items"]] == ["worker.token"]
    assert found["NetworkPolicy", "demo-worker"]["spec"]["ingress"] == []


@NEEDS_HELM
def test_a_pool_that_says_little_is_as_the_defaults_say():
    found = rendered("--set", "server.insecure=true,workers.gpu.autoscaling.enabled=true")

    assert found["HorizontalPodAutoscaler", "demo-worker-gpu"]["spec"]["maxReplicas"] == 20
    assert "replicas" not in found["Deployment", "demo-worker-gpu"]["spec"]
    assert found["Deployment", "demo-worker-default"]["spec"]["replicas"] == 3


@NEEDS_HELM
@pytest.mark.parametrize("wrong", ["server.replicas=none", "workers.gpu.poll=3", "settings.NOETL_SLOTS=4", "sever.x=1"])
def test_a_slip_in_the_values_is_refused(wrong):
    assert helm("template", "demo", str(CHART), *KUBERNETES, "--set", f"server.insecure=true,{wrong}").returncode != 0
