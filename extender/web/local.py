"""Routes for whoever is on this machine, and for no page of somebody else's."""

import re
from ipaddress import ip_address
from typing import Final

from aiohttp import web

_HOST: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-fA-F:.]+)\]|(?P<name>[^:\[\]]+))(?::\d+)?"
)

_OWN_SITES: Final = frozenset({"same-origin", "none"})
"""What a browser says of our page's own requests, and of an address that was typed."""


def check_local(request: web.Request) -> None:
    """Refuse whoever does not come over loopback, and whom a foreign page sent.

    A browser on this machine comes over loopback, too, for any page that is open in it.
    It may give such a page our answers where the page's own name leads to 127.0.0.1
    (DNS rebinding): so the name that it asked for has to be one of loopback.

    Raises:
        web.HTTPForbidden: The other end of the connection is elsewhere, ``Host`` is no
            name or address of loopback, or the browser says that another site asks.
    """
    if not _is_loopback(request.remote or ""):
        raise web.HTTPForbidden(reason=f"{request.path} is served to loopback only")
    if not is_loopback_host(request.headers.get("Host", "")):
        raise web.HTTPForbidden(
            reason=f"{request.path} is served as 127.0.0.1, [::1] or localhost only; "
            "Host names something else"
        )
    site = request.headers.get("Sec-Fetch-Site", "none")
    mode = request.headers.get("Sec-Fetch-Mode", "")
    if site not in _OWN_SITES and mode != "navigate":
        raise web.HTTPForbidden(
            reason=f"{request.path} is not served to pages of other sites"
        )


def is_loopback_host(host: str) -> bool:
    """Tell whether a ``Host`` header can only mean this machine.

    Example:
        >>> [is_loopback_host(each) for each in ("localhost:8080", "[::1]", "a.test")]
        [True, True, False]
    """
    found = _HOST.fullmatch(host)
    if found is None:
        return False
    name = found["six"] or found["name"]
    return name.lower() == "localhost" or _is_loopback(name)


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False
