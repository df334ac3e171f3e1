"""Versions of Kubernetes, of an image's tag or of ``GET /version``."""

import re
from typing import Final

from extender.errors import BadObject
from extender.verbs.installation.documents import Version
from extender.wire.objects import shown

_VERSION: Final = re.compile(r"v?(?P<major>[0-9]{1,4})[.](?P<minor>[0-9]{1,4})\b.*")


def read_version(text: object, field: str) -> Version:
    """Read a version; what follows the minor number is kept as text.

    Raises:
        BadObject: It is none.

    Example:
        >>> read_version("v1.36.3-gke.1", "gitVersion").minor
        36
    """
    found = _VERSION.fullmatch(text) if isinstance(text, str) else None
    if found is None or not isinstance(text, str):
        raise BadObject(field, shown(text), "a version, such as v1.36.3")
    return Version(text, int(found["major"]), int(found["minor"]))


def image_version(image: str) -> Version | None:
    """Read the version of an image by its tag; None where it has none that is one.

    Example:
        >>> image_version("registry.k8s.io:5000/kube-scheduler:v1.36.3").text
        'v1.36.3'
        >>> image_version("registry.k8s.io:5000/kube-scheduler") is None
        True
    """
    name, _, _ = image.partition("@")
    _, colon, tag = name.rpartition("/")[2].partition(":")
    try:
        return read_version(tag, "image") if colon else None
    except BadObject:
        return None
