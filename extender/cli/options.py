"""Options that several commands share."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from extender.cli.terminal import printable
from extender.core.device_policy import DevicePolicy, Weights
from extender.core.kinds import NVIDIA, Kind
from extender.core.pod import Release
from extender.core.pod_request import Policy
from extender.device_config import kinds_in
from extender.errors import BadAnnotation, BadSelector, SettingsError
from extender.settings import AdmissionSettings
from extender.wire.device_policies import (
    device_policy_of,
    weights_of,
)
from extender.wire.label_selector import LabelSelector, parse_selector

_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")
"""A DNS name, as a pod's schedulerName must be."""

_Command = TypeVar("_Command", bound=Callable[..., Any])


def release_option(command: _Command) -> _Command:
    """Add ``--release after-init|never``."""
    return click.option(
        "--release",
        type=click.Choice([each.value for each in Release]),
        default=Release.AFTER_INIT.value,
        show_default=True,
        help="For pods that do not say it themselves: what only inits needed is given "
        "back once they are over, or is kept until the pod ends.",
    )(command)


def policy_options(command: _Command) -> _Command:
    """Add how cards and nodes are chosen for pods that do not say it themselves.

    The names are HAMi's, of its flags and of the annotations. Parameters are
    ``device_policy``, ``node_policy`` and ``weights``.
    """
    for option in (
        click.option(
            "--device-scoring-weights",
            "weights",
            metavar="slot=A,core=B,memory=C",
            default="slot=1,core=1,memory=1",
            show_default=True,
            callback=_weights,
            help="How much the shares of slots, cores and memory that are taken count "
            "in a card's use. Pods may name others.",
        ),
        click.option(
            "--node-scheduler-policy",
            "node_policy",
            type=click.Choice([each.value for each in Policy]),
            default=Policy.BINPACK.value,
            show_default=True,
            help="Which of the fitting nodes is preferred. Pods may name another.",
        ),
        click.option(
            "--gpu-scheduler-policy",
            "device_policy",
            metavar="WORD[,WORD...]",
            default="spread",
            show_default=True,
            callback=_device_policy,
            help="Which of a node's fitting cards are taken: spread, binpack, mutex, "
            "numa, topology-aware, or a list of these. Pods may name another.",
        ),
    ):
        command = option(command)
    return command


def _device_policy(
    _context: click.Context, _parameter: click.Parameter, text: str
) -> DevicePolicy:
    policy = device_policy_of(text)
    if policy is None:
        raise click.BadParameter(
            f"{printable(text)!r}\nIt is spread, binpack, mutex, numa, topology-aware, "
            "or a list of these"
        )
    return policy


def _weights(
    _context: click.Context, _parameter: click.Parameter, text: str
) -> Weights:
    try:
        return weights_of(text, "weights")
    except BadAnnotation as error:
        wanted = f"{error.value!r}\nIt is {error.expected}"
        raise click.BadParameter(wanted) from error


def node_selector_option(command: _Command) -> _Command:
    """Add ``--node-label-selector SELECTOR``, by HAMi's name."""
    return click.option(
        "--node-label-selector",
        "node_selector",
        metavar="SELECTOR",
        default="",
        callback=_selector,
        help="Only nodes whose labels match are scheduled; written as for kubectl -l, "
        "such as 'gpu=on' or 'zone in (a,b),!spot'. Default: all nodes.",
    )(command)


def _selector(
    _context: click.Context, _parameter: click.Parameter, text: str
) -> LabelSelector:
    try:
        return parse_selector(text)
    except BadSelector as error:
        found = f"At {error.field} stands {printable(repr(error.value))}"
        wanted = f"{printable(text)!r}\n{found}\nThere should be {error.expected}"
        raise click.BadParameter(wanted) from error


def scheduler_options(command: _Command) -> _Command:
    """Add whose pods the admission webhook takes over, by HAMi's names.

    Parameters are ``scheduler_names`` and ``force_overwrite_default_scheduler``.
    """
    command = click.option(
        "--force-overwrite-default-scheduler",
        metavar="BOOL",
        type=bool,
        is_flag=False,
        flag_value="true",
        default=True,
        show_default=True,
        help="Whether pods that ask for cards and name default-scheduler, or none, get "
        "the scheduler's name at admission.",
    )(command)
    return click.option(
        "--scheduler-name",
        "scheduler_names",
        metavar="NAME",
        multiple=True,
        default=AdmissionSettings().scheduler_names,
        show_default=True,
        callback=_scheduler_names,
        help="A scheduler that asks this extender. May be given several times; the "
        "first is written into pods that ask for cards.",
    )(command)


def _scheduler_names(
    _context: click.Context, _parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    for name in names:
        if not _NAME.fullmatch(name):
            raise click.BadParameter(
                f"{printable(repr(name))}\nIt is lower-case letters, digits, - and ."
            )
    return names


def device_config_option(command: _Command) -> _Command:
    """Add ``--device-config FILE``; the parameter is ``device_config``."""
    return click.option(
        "--device-config",
        "device_config",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="The kinds of device, in HAMi's format; NVIDIA with HAMi's names without "
        "it. `gpu-extender check-config` tells whether a file can be used.",
    )(command)


def kinds_of(device_config: Path | None) -> tuple[Kind, ...]:
    """Read the kinds of ``--device-config``, or give those that count without it.

    Raises:
        SettingsError: The file cannot be used.
    """
    return (NVIDIA,) if device_config is None else kinds_in(device_config)


def cluster_option(command: _Command) -> _Command:
    """Add ``--cluster FILE``, which must be given."""
    return _cluster_option(command, is_required=True)


def optional_cluster_option(command: _Command) -> _Command:
    """Add ``--cluster FILE``, one of several sources."""
    return _cluster_option(command, is_required=False)


def _cluster_option(command: _Command, *, is_required: bool) -> _Command:
    return click.option(
        "--cluster",
        "cluster_files",
        metavar="FILE",
        multiple=True,
        required=is_required,
        type=click.Path(path_type=Path),
        help="Nodes, pods and quotas, as `kubectl get nodes,pods,resourcequotas -A -o "
        "json` prints them; JSON or YAML. May be given several times.",
    )(command)


def read_input(file: Path) -> bytes:
    """Read a file; ``-`` is standard input.

    Raises:
        SettingsError: It cannot be read.
    """
    try:
        return sys.stdin.buffer.read() if str(file) == "-" else file.read_bytes()
    except AttributeError as error:  # sys.stdin is None where it was closed
        raise SettingsError("standard input is closed") from error
    except OSError as error:
        raise SettingsError(f"{file}: {error.strerror}") from error
