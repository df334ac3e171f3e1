"""Who may ask: clients with a certificate, by the names that it has.

The handshake has verified the certificate by then (`extender.web.tls`). What stays open
for clients without one is what kubelet's probes ask; it tells nothing and does nothing.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""For everybody who reaches the port."""


def known_clients_only(client_names: Collection[str]) -> Middleware:
    """Make what refuses, with 403, whoever has no certificate or another name.

    Args:
        client_names: One of them must be the certificate's common name or one of its
            DNS names, letter by letter; empty for any certificate of the client CA.
    """

    @web.middleware
    async def check(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path not in OPEN_PATHS:
            _check_client(request, client_names)
        return await handler(request)

    return check


def _check_client(request: web.Request, client_names: Collection[str]) -> None:
    certificate = request.get_extra_info("peercert")
    if not certificate:
        raise web.HTTPForbidden(
            reason="only for clients with a certificate of the CA given by --client-ca"
        )
    names = list(names_of(certificate))
    if client_names and not set(names).intersection(client_names):
        shown = " and ".join(map(ascii, names)) or "no name"
        wanted = " or ".join(map(ascii, sorted(client_names)))
        raise web.HTTPForbidden(
            reason=f"the client's certificate is for {shown}; --client-name asks for "
            f"{wanted}"
        )


def names_of(certificate: Mapping[str, Any]) -> Iterator[str]:
    """Give the common names and DNS names of a certificate, in its order.

    Args:
        certificate: As `ssl.SSLObject.getpeercert` gives it.

    Example:
        >>> list(
        ...     names_of(
        ...         {
        ...             "subject": ((("commonName", "scheduler"),),),
        ...             "subjectAltName": (("DNS", "a.test"), ("IP Address", "::1")),
        ...         }
        ...     )
        ... )
        ['scheduler', 'a.test']
    """
    for part in certificate.get("subject", ()):
        for kind, text in part:
            if kind == "commonName":
                yield text
    for kind, text in certificate.get("subjectAltName", ()):
        if kind == "DNS":
            yield text
