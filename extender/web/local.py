"""Routes for whoever is on this machine."""

from ipaddress import ip_address

from aiohttp import web


def check_local(request: web.Request) -> None:
    """Refuse whoever does not come over loopback.

    Raises:
        web.HTTPForbidden: The other end of the connection is elsewhere.
    """
    try:
        is_local = ip_address(request.remote or "").is_loopback
    except ValueError:
        is_local = False
    if not is_local:
        raise web.HTTPForbidden(reason=f"{request.path} is served to loopback only")
