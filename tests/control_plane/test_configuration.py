"""The shipped KubeSchedulerConfiguration agrees with what the extender reads."""

from pathlib import Path
from typing import Any

import pytest

from extender.core.kinds import NVIDIA
from tests.control_plane.scheduler import configuration


@pytest.fixture
def extender() -> dict[str, Any]:
    """Read the extender's part."""
    shipped = configuration(Path("/kubeconfig"), "http://127.0.0.1:8080")
    (part,) = shipped["extenders"]
    read: dict[str, Any] = part
    return read


def test_every_resource_of_a_pod_is_managed(extender: dict[str, Any]) -> None:
    """The count is visible to kube-scheduler; what no node reports is ignored."""
    managed = {
        resource["name"]: resource["ignoredByScheduler"]
        for resource in extender["managedResources"]
    }
    assert managed == {
        NVIDIA.count_resource: False,
        NVIDIA.memory_resource: True,
        NVIDIA.memory_percentage_resource: True,
        NVIDIA.core_resource: True,
        "nvidia.com/priority": True,
    }


def test_kube_scheduler_never_binds_gpu_pods_itself(extender: dict[str, Any]) -> None:
    """An extender that binds is not ignorable: pods would be bound without cards."""
    assert extender["bindVerb"] == "bind"
    assert extender["ignorable"] is False
