"""What the extender's user may do, and for how long."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from tests.builders import Json
from tests.control_plane.client import Api
from tests.control_plane.plane import User

RIGHTS: Final[list[Json]] = [
    {
        "apiGroups": [""],
        "resources": ["nodes", "pods"],
        "verbs": ["get", "list", "watch", "patch"],
    },
    {"apiGroups": [""], "resources": ["pods/binding"], "verbs": ["create"]},
    {
        "apiGroups": [""],
        "resources": ["resourcequotas"],
        "verbs": ["list", "watch"],
    },
    {
        "apiGroups": ["coordination.k8s.io"],
        "resources": ["leases"],
        "verbs": ["get", "list", "create", "patch"],
    },
]
"""All that it needs. A pod is patched only to be woken, and for its label where the
apiserver drops that from a Binding; a lease is for namespaces with a quota. Without any
other of these, none is placed or what was placed is not known."""

_API: Final = "/apis/rbac.authorization.k8s.io/v1"
_GROUP: Final = "rbac.authorization.k8s.io"
_NAME: Final = "gpu-extender-of-a-test"


@asynccontextmanager
async def extender_may(rights: list[Json], api: Api) -> AsyncIterator[None]:
    """Let `User.EXTENDER` do this, and nothing else, for the length of a block."""
    roles, bindings = f"{_API}/clusterroles", f"{_API}/clusterrolebindings"
    role = {"metadata": {"name": _NAME}, "rules": rights}
    binding = {
        "metadata": {"name": _NAME},
        "roleRef": {"apiGroup": _GROUP, "kind": "ClusterRole", "name": _NAME},
        "subjects": [{"apiGroup": _GROUP, "kind": "User", "name": User.EXTENDER}],
    }
    try:
        await api.request("POST", roles, body=role)
        await api.request("POST", bindings, body=binding)
        yield
    finally:
        await api.delete(f"{bindings}/{_NAME}")
        await api.delete(f"{roles}/{_NAME}")
