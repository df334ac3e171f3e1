"""AdmissionReview: what the API server asks a webhook, and what it reads.

Source: k8s.io/api/admission/v1 and v1beta1, whose fields have the same names.
"""

from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from extender.errors import LONGEST_SHOWN, BadObject, MalformedBody
from extender.wire.json_patch import JsonPatch
from extender.wire.objects import (
    JsonObject,
    as_object,
    name_at,
    object_at,
    optional_text_at,
    shown,
)

_GROUP: Final = "admission.k8s.io"
_VERSIONS: Final = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_KIND: Final = "AdmissionReview"
_POD: Final = {"group": "", "version": "v1", "kind": "Pod"}
_CREATE: Final = "CREATE"

_REASONS: Final = {400: "BadRequest", 403: "Forbidden", 422: "Invalid"}
"""Of Kubernetes' Status, by its code."""


@dataclass(frozen=True, slots=True)
class AdmissionRequest:
    """What is asked.

    Attributes:
        api_version: In which the answer must be.
        uid: Of the request; the answer names it.
        namespace: Where the pod is created; the object may lack it.
        pod: The JSON object; None where no pod is created, and so nothing is decided.
        is_dry_run: Whether nothing will be written, whatever is answered.
    """

    api_version: str
    uid: str
    namespace: str
    pod: JsonObject | None
    is_dry_run: bool = False


def decode_admission_review(body: bytes) -> AdmissionRequest:
    """Read what the API server asks.

    Raises:
        MalformedBody: It cannot be used; the error names the field.
    """
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        wanted = f"JSON: {error}"
        raise MalformedBody("body", bytes(body[:LONGEST_SHOWN]), wanted) from error
    try:
        return _read(as_object(review, "body"))
    except BadObject as error:
        raise MalformedBody(error.field, error.value, error.expected) from error


def _read(review: JsonObject) -> AdmissionRequest:
    version = review.get("apiVersion")
    if version not in _VERSIONS:
        raise MalformedBody("apiVersion", shown(version), f"one of {_VERSIONS}")
    if review.get("kind") != _KIND:
        raise MalformedBody("kind", shown(review.get("kind")), _KIND)
    request = as_object(review.get("request"), "request")
    uid = name_at(request, "uid", "request")
    operation = name_at(request, "operation", "request")
    namespace = optional_text_at(request, "namespace", "request")
    part = optional_text_at(request, "subResource", "request")
    if operation != _CREATE or part:
        return AdmissionRequest(str(version), uid, namespace, None)
    _check_kind(object_at(request, "kind", "request"))
    pod = as_object(request.get("object"), "request.object")
    name_at(request, "namespace", "request")
    is_dry_run = _flag(request, "dryRun")
    return AdmissionRequest(str(version), uid, namespace, pod, is_dry_run)


def _flag(request: JsonObject, key: str) -> bool:
    value = request.get(key)
    if value is not None and not isinstance(value, bool):
        raise MalformedBody(f"request.{key}", shown(value), "true or false")
    return value is True


def check_uid(pod: JsonObject) -> None:
    """Refuse a pod without a UID: validating webhooks are told it.

    Mutating ones may not be: it is chosen before the pod is written.

    Raises:
        MalformedBody: There is none.
    """
    try:
        metadata = object_at(pod, "metadata", "request.object")
        name_at(metadata, "uid", "request.object.metadata")
    except BadObject as error:
        raise MalformedBody(error.field, error.value, error.expected) from error


def _check_kind(kind: JsonObject) -> None:
    for key, wanted in _POD.items():
        found = optional_text_at(kind, key, "request.kind")
        if found != wanted:
            expected = f"{wanted!r}: this webhook is for pods"
            raise MalformedBody(f"request.kind.{key}", found, expected)


def encode_allowed(
    request: AdmissionRequest,
    patch: JsonPatch,
    *,
    text: str = "",
    warnings: Sequence[str] = (),
) -> bytes:
    """Write that the pod may be created.

    Args:
        request: What was asked.
        patch: How it is changed; may be empty.
        text: What else there is to say.
        warnings: For whoever creates it.
    """
    response: JsonObject = {"uid": request.uid, "allowed": True}
    if patch:
        response["patchType"] = "JSONPatch"
        response["patch"] = b64encode(orjson.dumps(patch)).decode()
    if text:
        response["status"] = {"metadata": {}, "message": text}
    return _encode(request, response, warnings)


def encode_denied(
    request: AdmissionRequest, code: int, text: str, *, warnings: Sequence[str] = ()
) -> bytes:
    """Write that the pod may not be created.

    Args:
        request: What was asked.
        code: An HTTP status of `_REASONS`, which the pod's creator gets.
        text: Why, and what to do.
        warnings: For whoever creates it.
    """
    status: JsonObject = {
        "metadata": {},
        "status": "Failure",
        "message": text,
        "reason": _REASONS[code],
        "code": code,
    }
    response: JsonObject = {"uid": request.uid, "allowed": False, "status": status}
    return _encode(request, response, warnings)


def _encode(
    request: AdmissionRequest, response: JsonObject, warnings: Sequence[str]
) -> bytes:
    if warnings:
        response["warnings"] = list(warnings)
    answer = {"kind": _KIND, "apiVersion": request.api_version, "response": response}
    return orjson.dumps(answer)
