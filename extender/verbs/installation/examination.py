"""All checks of an installation, of what could be read of it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from extender.verbs.diagnosis import Diagnosis
from extender.verbs.doctor.examination import Consulted, Examination, in_order
from extender.verbs.installation.certificates import check_certificate
from extender.verbs.installation.documents import Installation, Served
from extender.verbs.installation.guards import check_guards
from extender.verbs.installation.schedulers import Target, check_scheduler, stanza_of
from extender.verbs.installation.versions import check_versions
from extender.verbs.installation.webhooks import check_webhooks, is_ours

_NOT_KNOWN = Served()
"""As manifests/base has it: what is installed is held against that."""


def check_installation(read: Installation) -> Iterator[Diagnosis]:
    """Tell what is wrong with an installation; what was not read is passed over."""
    served = read.served or _NOT_KNOWN
    if read.scheduler is not None:
        yield from check_scheduler(read.scheduler, served, read.demand)
    yield from check_versions(read.api_server, read.kube_scheduler)
    if read.webhooks is not None:
        yield from check_webhooks(
            read.webhooks, read.services, served, read.demand, read.unix_seconds
        )
    if read.guards is not None:
        yield from check_guards(read.guards, served, read.demand)
    if read.webhook_certificate is not None:
        yield from check_certificate(
            read.webhook_certificate, _webhook_hosts(read, served), read.unix_seconds
        )
    if read.verbs_certificate is not None:
        yield from check_certificate(
            read.verbs_certificate, _verb_hosts(read, served), read.unix_seconds
        )


def with_installation(
    found: Examination, read: Installation, consulted: Iterable[Consulted]
) -> Examination:
    """Add what is wrong with the installation to what is wrong with the state.

    Args:
        found: By the doctor of the state.
        read: The installation.
        consulted: What of it was looked at, and what could not be.
    """
    return replace(
        found,
        diagnoses=in_order((*found.diagnoses, *check_installation(read))),
        consulted=(*found.consulted, *consulted),
    )


def _webhook_hosts(read: Installation, served: Served) -> tuple[str, ...]:
    """Give the names by which the API server asks: ``SERVICE.NAMESPACE.svc``."""
    names = [
        f"{each.service.name}.{each.service.namespace}.svc"
        for each in read.webhooks or ()
        if each.service is not None and is_ours(each, served)
    ]
    return tuple(dict.fromkeys(names))


def _verb_hosts(read: Installation, served: Served) -> tuple[str, ...]:
    """Give the name by which kube-scheduler asks."""
    if read.scheduler is None:
        return ()
    stanza = stanza_of(read.scheduler, served, read.demand)
    target = None if stanza is None else Target.of(stanza.url_prefix)
    if stanza is None or target is None or stanza.trusts_anybody:
        return ()
    return (stanza.server_name or target.host,)
