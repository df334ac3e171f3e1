"""Objects in files: whatever kubectl prints or people write, as JSON would have it."""

import json

import pytest

from extender.embedded.documents import objects_in
from extender.errors import BadObject
from tests.builders import Json, node, pod

POD = pod("p").app("a", gpu=1).build()
NODE = node("n1").gpu("GPU-a").build()


def read(text: str | bytes) -> list[Json]:
    """Read all objects of a text."""
    content = text.encode() if isinstance(text, str) else text
    return list(objects_in(content, "dump.yaml"))


SAME: dict[str, str | bytes] = {
    "JSON objects one by one in YAML": f"{json.dumps(POD)}",
    "a byte order mark": b"\xef\xbb\xbf" + json.dumps(POD).encode(),
    "blanks before": "\n\n  " + json.dumps(POD),
    "a List": json.dumps({"kind": "List", "items": [POD]}),
    "a PodList": json.dumps({"kind": "PodList", "items": [POD]}),
    "a PodList whose items have no kind": json.dumps(
        {"kind": "PodList", "items": [{k: POD[k] for k in POD if k != "kind"}]}
    ),
    "a List in a List": json.dumps(
        {"kind": "List", "items": [{"kind": "List", "items": [POD]}]}
    ),
    "YAML": f"---\n{json.dumps(POD, indent=1)}\n",
    "YAML after a comment": f"# kubectl get pods\n{json.dumps(POD)}",
    "YAML with empty documents": f"---\n---\n{json.dumps(POD)}\n---\n# end\n",
    "YAML with a byte order mark": b"\xef\xbb\xbf---\n" + json.dumps(POD).encode(),
    "YAML with Windows line ends": f"---\r\n{json.dumps(POD)}\r\n",
}


@pytest.mark.parametrize("text", SAME.values(), ids=SAME)
def test_every_form_reads_the_same(text: str | bytes) -> None:
    """One pod, whichever way it is wrapped."""
    assert read(text) == [POD]


def test_several_documents_keep_their_order() -> None:
    """Lists and single objects may be mixed."""
    lists = json.dumps({"kind": "List", "items": [NODE, POD]})
    text = f"{'---'}\n{json.dumps(POD)}\n---\n{lists}\n---\n{json.dumps(NODE)}"
    assert read(text) == [POD, NODE, POD, NODE]


@pytest.mark.parametrize("text", ["", " \n", "---\n", "# nothing\n", "kind: List\n"])
def test_nothing_is_no_object(text: str) -> None:
    """An empty file is empty, not wrong."""
    assert read(text) == []


def test_yaml_has_the_types_of_json() -> None:
    """Times, and words that look like times, stay text; numbers are numbers."""
    text = """
    created: 2026-01-01T00:00:00Z
    day: 2026-01-01
    octal: 0o17
    count: 1
    quoted: "1"
    share: 0.5
    large: 40k
    none:
    """
    (obj,) = read(text.replace("\n    ", "\n"))
    assert obj["created"] == "2026-01-01T00:00:00Z"
    assert obj["day"] == "2026-01-01"
    assert (obj["count"], obj["quoted"], obj["share"]) == (1, "1", 0.5)
    assert (obj["large"], obj["none"]) == ("40k", None)


def test_alias_is_refused() -> None:
    """A few lines of aliases can stand for gigabytes, long texts too."""
    with pytest.raises(BadObject, match=r"dump\.yaml.*alias"):
        read("a: &x {b: 1}\nc: *x\n")
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9)}]\n"
        for level in range(1, 40)
    )
    with pytest.raises(BadObject, match="alias"):
        read(bomb)
    with pytest.raises(BadObject, match="alias"):
        read("&x [*x]")
    with pytest.raises(BadObject, match="alias"):
        read("base: &b {n: {m: 1}}\nmore: {<<: *b}\n")
    with pytest.raises(BadObject, match="alias"):
        read("a: &x same\nb: *x\n")
    assert read("a: &unused 1\n") == [{"a": 1}]


@pytest.mark.parametrize(
    "value",
    [
        '!!timestamp "abc"',
        '!!bool "abc"',
        '!!int ""',
        '!!int "-"',
        '!!float ""',
        "!!python/object:os.system {}",
        "1" + ":00" * 300 + ".5",
    ],
)
def test_value_that_yaml_chokes_on_is_refused(value: str) -> None:
    """With our error, whatever the parser raises."""
    with pytest.raises(BadObject, match=r"dump\.yaml.*YAML"):
        read(f"x: {value}\n")


WRONG: dict[str, tuple[str | bytes, str]] = {
    "unfinished JSON": ('{"kind": ', "JSON: "),
    "two JSON objects": ("{}{}", "JSON: "),
    "unfinished YAML": ("kind: [", "YAML: "),
    "a tab in YAML": ("kind:\n\t- x", "YAML: "),
    "not UTF-8": (b"kind: \xff\xfe", "YAML: "),
    "binary": (bytes(range(256)), "YAML: "),
    "NUL": ("a: \0", "YAML: "),
    "a Python tag": ("!!python/object/apply:os.getcwd []", "YAML: "),
    "an unknown alias": ("a: *nowhere", "YAML: "),
    "a text": ("hello", "document 1: 'hello' is not an object"),
    "a list": ("[1, 2]", "document 1: "),
    "a number after an object": ("a: 1\n---\n7", "document 2: 7 is not an object"),
    "a number as a key": ("1: x", "JSON: "),
    "binary data": ("a: !!binary aGVsbG8=", "JSON: "),
    "a set": ("a: !!set {x, y}", "JSON: "),
    "a number beyond 64 bits": (f"a: {10**30}", "JSON: "),
    "an item that is a text": ('{"kind":"PodList","items":["p"]}', "PodList.items[0]"),
    "items that are a text": ('{"kind":"List","items":"p"}', "List.items: "),
    "deep JSON": ("[" * 100_000, "JSON: "),
    "deep YAML": ("- " * 100_000 + "x", "YAML: "),
    "deep flow YAML": ("x: " + "[" * 100_000, "YAML: "),
}


@pytest.mark.parametrize(("text", "problem"), WRONG.values(), ids=WRONG)
def test_unusable_text_is_refused(text: str | bytes, problem: str) -> None:
    """BadObject, in one short line."""
    with pytest.raises(BadObject) as caught:
        read(text)
    shown = str(caught.value)
    assert problem in shown
    assert "\n" not in shown
    assert len(shown) < 400


@pytest.mark.parametrize("name", ["unfinished JSON", "unfinished YAML", "a text"])
def test_error_names_the_file(name: str) -> None:
    """Of several files, which one."""
    with pytest.raises(BadObject, match=r"dump\.yaml"):
        read(WRONG[name][0])
