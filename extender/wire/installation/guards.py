"""ValidatingAdmissionPolicies of ours, their bindings, and the lists they go by."""

from collections.abc import Iterable, Mapping

from extender.errors import BadObject
from extender.verbs.installation.documents import GuardPolicy, Guards
from extender.wire.objects import (
    JsonObject,
    as_object,
    list_at,
    name_at,
    object_at,
    optional_text_at,
    shown,
)


def read_guards(
    policies: Iterable[object],
    bindings: Iterable[object],
    parameters: object,
    names: Iterable[str],
) -> Guards:
    """Read the guards.

    Args:
        policies: ValidatingAdmissionPolicies, all or some.
        bindings: ValidatingAdmissionPolicyBindings, the same.
        parameters: The ConfigMap; None where it is missing.
        names: Of the policies that are ours.

    Raises:
        BadObject: The structure of one is not that of its kind.
    """
    there = {_name(each) for each in policies}
    read = [_binding(each) for each in bindings]
    found = []
    for name in names:
        if name not in there:
            continue
        of_name = [each for each in read if each[0] == name]
        actions = frozenset(action for each in of_name for action in each[1])
        refers = next((each[2] for each in of_name if each[2] is not None), None)
        found.append(GuardPolicy(name, actions, refers))
    lists = None if parameters is None else read_parameters(parameters)
    return Guards(tuple(found), lists)


def _name(obj: object) -> str:
    metadata = object_at(as_object(obj, "policy"), "metadata", "policy")
    return name_at(metadata, "name", "metadata")


def _binding(obj: object) -> tuple[str, list[str], tuple[str, str] | None]:
    spec = object_at(as_object(obj, "binding"), "spec", "binding")
    actions = list_at(spec, "validationActions", "spec")
    reference: JsonObject = object_at(spec, "paramRef", "spec")
    name = optional_text_at(reference, "name", "paramRef")
    namespace = optional_text_at(reference, "namespace", "paramRef")
    return (
        optional_text_at(spec, "policyName", "spec"),
        [each for each in actions if isinstance(each, str)],
        (namespace, name) if name else None,
    )


def read_parameters(obj: object) -> Mapping[str, tuple[str, ...]]:
    """Read the lists of the guards' ConfigMap: one name a line.

    Raises:
        BadObject: It is no ConfigMap, or a value no text.
    """
    data = object_at(as_object(obj, "configmap"), "data", "configmap")
    lists = {}
    for key, text in data.items():
        if not isinstance(text, str):
            raise BadObject(f"data.{key}", shown(text), "a text")
        lines = (line.strip() for line in text.split("\n"))
        lists[key] = tuple(line for line in lines if line)
    return lists
