"""How kwok plays nodes and pods: its Stages, from the files in ``stages/``.

kwok's own pod stages run all inits at once, or end sidecars with them. These run a
pod's containers as kubelet does: sidecars and inits in declared order, each init to
its end before the next begins; then the apps. A container runs for as long as its
``sleep`` says. A pod with cards waits until its device plugin has served it.

``step.jq`` tells which stage a pod is in, ``NAME.jq`` when that stage is over, and
``NAME.status`` is what kwok writes then. A line ``@NAME`` stands for ``NAME.part``.

Source: the Stage API of kwok v0.7 (``kwok.x-k8s.io/v1alpha1``): selectors are jq,
statuses are Go templates with sprig's functions, and a delay may be a time in RFC 3339.
"""

import re
from pathlib import Path
from typing import Any, Final

import yaml

_FOLDER: Final = Path(__file__).with_name("stages")
_INCLUDE: Final = re.compile(r"^@([a-z-]+)$", re.MULTILINE)
_READY: Final = '.status.conditions[]? | select(.type == "Ready") | .status'
_STATUS_STEPS: Final = ("start-init", "end-init", "start-apps", "complete", "fail")


def stages() -> str:
    """Print all stages, as ``kwok --config`` reads them."""
    not_ready = {"key": _READY, "operator": "NotIn", "values": ["True"]}
    documents = [
        _stage("Node", "node-ready", not_ready, _status("node-ready")),
        *(_pod_stage(step, _status(step)) for step in _STATUS_STEPS),
        _pod_stage("remove", {"delete": True}),
    ]
    return yaml.safe_dump_all(documents, sort_keys=False)


def _status(name: str) -> dict[str, Any]:
    return {"statusTemplate": _read(f"{name}.status")}


def _pod_stage(step: str, then: dict[str, Any]) -> dict[str, Any]:
    in_step = {"key": _read("step.jq"), "operator": "In", "values": [step]}
    stage = _stage("Pod", step, in_step, then)
    if (_FOLDER / f"{step}.jq").exists():
        over = {"jq": {"expression": _read(f"{step}.jq")}}
        stage["spec"]["delay"] = {"durationFrom": over}
    return stage


def _stage(
    kind: str, name: str, claim: dict[str, Any], then: dict[str, Any]
) -> dict[str, Any]:
    return {
        "apiVersion": "kwok.x-k8s.io/v1alpha1",
        "kind": "Stage",
        "metadata": {"name": name},
        "spec": {
            "resourceRef": {"apiGroup": "v1", "kind": kind},
            "selector": {"matchExpressions": [{"jq": claim}]},
            "next": then,
        },
    }


def _read(name: str) -> str:
    text = (_FOLDER / name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: _read(f"{found[1]}.part"), text)
