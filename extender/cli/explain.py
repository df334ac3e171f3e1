"""``gpu-extender explain``: why a pod is placed where it is, or nowhere."""

import asyncio
import logging
import sys
from pathlib import Path
from urllib.parse import quote, urlencode

import click
import orjson

from extender.cli.explained import print_explanation
from extender.cli.options import read_input
from extender.cli.source import Question, Source, source_options
from extender.cli.views import Output, echo_view, output_option
from extender.core.names import NodeName
from extender.embedded.documents import objects_in
from extender.errors import SettingsError
from extender.service import Extender
from extender.verbs.explanation import Explanation, Outcome
from extender.wire.objects import JsonObject


@click.command()
@click.argument("pod", metavar="[[NAMESPACE/]POD]", required=False)
@click.option(
    "-f",
    "--filename",
    "file",
    metavar="POD",
    type=click.Path(path_type=Path),
    help="A manifest of one pod instead, JSON or YAML; - is standard input. It is "
    "explained as if it were created now.",
)
@click.option(
    "-n",
    "--namespace",
    metavar="NAME",
    help="Of the pod.  [default: that of the context, else default]",
)
@click.option(
    "--node",
    "nodes",
    metavar="NAME",
    multiple=True,
    help="A node to be shown card by card besides. May be given several times.",
)
@source_options
@output_option
def explain(
    *,
    pod: str | None,
    file: Path | None,
    namespace: str | None,
    nodes: tuple[str, ...],
    source: Source,
    output: Output,
) -> None:
    """Explain where a pod fits, where not and why, and what is missing.

    Filter's own answer, with numbers: what each card has free, who holds the rest, and
    when that comes back. Of a bound pod, what it holds. GPU rules only: taints, CPU
    and all else that kube-scheduler looks at are left out. Nothing is written. The exit
    code is 1 where the pod fits nowhere.

    \b
    Examples:
      gpu-extender explain -f config/pods/too-large.yaml \\
        --cluster config/example-cluster.yaml
      gpu-extender explain -n team my-pod --server http://127.0.0.1:8080
    """  # noqa: D301 - \b is click's mark for text that is not to be wrapped
    logging.basicConfig(level=logging.ERROR)  # warnings stand beside the pod
    if (pod is None) is (file is None):
        raise click.UsageError("give either a pod's name or -f")
    wanted = tuple(NodeName(name) for name in nodes)
    if file is not None:
        if namespace is not None:
            raise click.UsageError("-n goes with a pod's name; -f has its own")
        question = _of_manifest(one_pod(file), wanted)
    else:
        question = _of_name(*full_name(pod or "", namespace, source), wanted)
    told, origin = source.ask(question)
    if output.is_table:
        print_explanation(
            output.console(), told, origin, wanted, is_wide=output is Output.WIDE
        )
    else:
        echo_view(told, origin, output)
    if told.outcome is Outcome.REFUSED:
        sys.exit(1)


def full_name(pod: str, namespace: str | None, source: Source) -> tuple[str, str]:
    """Tell which pod is meant, by namespace and name.

    Raises:
        SettingsError: The namespace is that of a kubeconfig that cannot be used.
        click.UsageError: Two namespaces are named.
    """
    before, slash, name = pod.rpartition("/")
    if not slash:
        return namespace or source.namespace(), pod
    if namespace is not None and namespace != before:
        raise click.UsageError(f"-n {namespace} and {pod} name two namespaces")
    return before, name


def one_pod(file: Path) -> JsonObject:
    """Read the one manifest that a file has.

    Raises:
        SettingsError: It cannot be read, or has none or several.
    """
    pods = list(objects_in(read_input(file), str(file)))
    if len(pods) != 1:
        raise SettingsError(f"{file}: {len(pods)} objects, expected one pod")
    return pods[0]


def _query(wanted: tuple[NodeName, ...]) -> str:
    return f"?{urlencode([('node', name) for name in wanted])}" if wanted else ""


def _of_name(
    namespace: str, name: str, wanted: tuple[NodeName, ...]
) -> Question[Explanation]:
    def answer(extender: Extender) -> Explanation:
        return asyncio.run(extender.explainer.explain_named(namespace, name, wanted))

    path = f"/explain/{quote(namespace, safe='')}/{quote(name, safe='')}"
    return Question(Explanation, answer, path + _query(wanted))


def _of_manifest(
    obj: JsonObject, wanted: tuple[NodeName, ...]
) -> Question[Explanation]:
    def answer(extender: Extender) -> Explanation:
        read = extender.reader.read(obj)
        return asyncio.run(extender.explainer.explain_manifest(read, wanted))

    path = f"/explain{_query(wanted)}"
    return Question(Explanation, answer, path, orjson.dumps(obj))
