"""How the API server is reached, and as whom: kubernetes-asyncio's loaders."""

import asyncio
import logging
import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from time import monotonic
from typing import Final
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config import (
    ConfigException,
    list_kube_config_contexts,
    load_incluster_config,
    load_kube_config,
)

from extender.errors import SettingsError

_log = logging.getLogger(__name__)

_REFRESH_SECONDS: Final = 60.0
"""Bound tokens of service accounts are renewed well before they end."""


_NAMESPACE_FILE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
"""Mounted into every pod together with the token of its service account."""


class Access:
    """An API server's address, TLS context and the headers that say who we are."""

    def __init__(
        self,
        configuration: Configuration,
        reload: Callable[[Configuration], Awaitable[None]],
    ) -> None:
        """Take a configuration that was loaded, and how to load it again."""
        self._configuration = configuration
        self._reload = reload
        self._loaded_at = monotonic()
        self._reloading = asyncio.Lock()
        self.base_url = str(configuration.host).rstrip("/")
        self.ssl_context = _ssl_context(configuration)
        self.server_name: str | None = configuration.tls_server_name
        self.proxy: str | None = configuration.proxy or _proxy_of(self.base_url)

    async def headers(self) -> Mapping[str, str]:
        """Give the headers of one request, with a token that is at most a minute old.

        Where the source cannot be read for a moment, the former token is used on.
        """
        async with self._reloading:
            if monotonic() - self._loaded_at > _REFRESH_SECONDS:
                self._loaded_at = monotonic()
                try:
                    await self._reload(self._configuration)
                except Exception as error:  # noqa: BLE001 - loaders raise anything
                    _log.warning("credentials cannot be renewed: %s", error)
        token = self._configuration.api_key.get("BearerToken")
        return {"Authorization": str(token).strip()} if token else {}

    def expire(self) -> None:
        """Load the credentials again before the next request: these were refused."""
        self._loaded_at = monotonic() - _REFRESH_SECONDS - 1


def _proxy_of(url: str) -> str | None:
    """Give the proxy that the environment names, as kubectl takes it."""
    parts = urlsplit(url)
    if proxy_bypass(parts.netloc):
        return None
    return getproxies().get(parts.scheme)


async def kubeconfig_access(file: Path, context: str | None = None) -> Access:
    """Read a kubeconfig: a context by its name, or else the current one.

    Tokens, token files, exec plugins, OIDC and client certificates are honoured as
    kubernetes-asyncio does. The file is never written.

    Raises:
        SettingsError: The file cannot be used.
    """

    async def load(configuration: Configuration) -> None:
        await load_kube_config(
            config_file=str(file),
            context=context,
            client_configuration=configuration,
            persist_config=False,
        )

    _check_readable(file)
    return await _access(load, f"--kubeconfig {file}")


def context_namespace(file: Path, context: str | None = None) -> str:
    """Give the namespace of a context, or else of the current one.

    Raises:
        SettingsError: The file cannot be used, or has no such context.
    """
    _check_readable(file)
    try:
        contexts, current = list_kube_config_contexts(config_file=str(file))
    except Exception as error:  # the loaders let through whatever a wrong file leads to
        raise SettingsError(f"--kubeconfig {file}: {error}") from error
    if context is not None:
        found = [each for each in contexts if each["name"] == context]
        if not found:
            raise SettingsError(f"--kubeconfig {file}: no context {context!r}")
        current = found[0]
    return str((current or {}).get("context", {}).get("namespace") or "default")


def _check_readable(file: Path) -> None:
    """Say what is wrong with a file; the loader takes a missing one for an empty.

    Of several in one, as ``$KUBECONFIG`` may name, one that is there is enough.
    """
    problems = []
    for part in str(file).split(os.pathsep):
        try:
            Path(part).read_bytes()
        except OSError as error:
            problems.append(f"--kubeconfig {part}: {error.strerror}")
        else:
            return
    raise SettingsError("; ".join(problems))


async def in_cluster_access() -> Access:
    """Take the service account that the kubelet mounts into every pod.

    Raises:
        SettingsError: This process does not run in a pod with a service account.
    """

    async def load(configuration: Configuration) -> None:
        # Every call reads the token again, so its own renewing is not needed.
        load_incluster_config(  # type: ignore[no-untyped-call]
            configuration, try_refresh_token=False
        )

    return await _access(load, "--in-cluster")


async def _access(
    load: Callable[[Configuration], Awaitable[None]], source: str
) -> Access:
    configuration = Configuration()
    try:
        await load(configuration)
        return Access(configuration, load)
    except ConfigException as error:
        raise SettingsError(f"{source}: {error}") from error
    except Exception as error:
        # The loaders let through whatever a wrong file leads to.
        problem = f"{type(error).__name__}: {error}"
        raise SettingsError(f"{source}: {problem}") from error


def _ssl_context(configuration: Configuration) -> ssl.SSLContext | None:
    if not str(configuration.host).startswith("https"):
        return None
    context = ssl.create_default_context(cafile=configuration.ssl_ca_cert)
    # From Python 3.13 on this is set, and refuses CAs that clusters make themselves.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if configuration.cert_file:
        context.load_cert_chain(configuration.cert_file, configuration.key_file)
    if not configuration.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def own_namespace() -> str:
    """Give the namespace of the pod that this runs in; empty outside of any."""
    try:
        return _NAMESPACE_FILE.read_text(encoding="utf-8").strip()
    except OSError:
        return ""
