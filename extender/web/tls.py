"""TLS of a listener: 1.2 or newer, with files that may be replaced at any time.

Whoever rotates certificates replaces files: cert-manager, kubelet for a mounted Secret,
or a person. They are looked at when a handshake begins, so a new certificate serves the
next connection, and nothing has to be told or restarted. Connections that are open stay
open. While the files cannot be used, such as when only one of a pair was replaced yet,
those that were read last keep serving.
"""

import logging
import os
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final, NoReturn

from extender.errors import SettingsError
from extender.observe.words import Certificate
from extender.settings import TlsSettings
from extender.web.certificate_end import first_end

_log = logging.getLogger(__name__)

_PEM_LIB: Final = {None, "PEM_LIB"}
"""What OpenSSL says of text that it cannot read."""

_RETRY_SECONDS: Final = 1.0
"""Between two tries to read files that could not be used, though they look the same:
what was missing may have been memory, a file that may be open, or a disk."""

Stamp = tuple[tuple[int, int, int, int] | None, ...]
"""What changes when a file is replaced, or who may read it, of each file; None where
there is none."""


NoteEnd = Callable[[Certificate, float], None]
"""Told when a certificate that is used from now on ends, in Unix seconds."""


def listening_context(
    settings: TlsSettings, note_end: NoteEnd = lambda *_: None
) -> ssl.SSLContext:
    """Read the files, and give what a listener needs to accept connections by them.

    A client may come without a certificate, since kubelet's probes have none, and
    then gets what `extender.web.clients` lets it. A certificate that is not of the
    client CA ends the handshake.

    Args:
        settings: The files.
        note_end: Told when they end, now and whenever they are replaced.

    Raises:
        SettingsError: A file cannot be used; names the flag, the file and the reason.
    """
    newest = _Newest(settings, note_end)
    newest.first.sni_callback = newest.serve
    newest.first.sslobject_class = _Handshake
    return newest.first


class _Handshake(ssl.SSLObject):
    """A connection whose handshake does not fail in silence.

    asyncio drops the connection without a word, and without the alert that would tell
    the client: kube-scheduler only sees a reset.
    """

    def do_handshake(self) -> None:
        """Go on with the handshake; logs why it ends."""
        try:
            super().do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except ssl.SSLCertVerificationError as error:
            _log.warning(
                "a client was refused, since its certificate is not good by "
                "--client-ca: %s",
                error.verify_message,
            )
            raise
        except ssl.SSLError as error:
            _log.warning("a client was refused in its TLS handshake: %s", error)
            raise


class _Newest:
    """The files as they were when they could be used last."""

    def __init__(self, settings: TlsSettings, note_end: NoteEnd) -> None:
        self._settings = settings
        self._note_end = note_end
        # Before they are read: what changes meanwhile is read again.
        self._stamp = _stamp(settings)
        self._refused: tuple[Stamp, str] | None = None
        self._retry_at = 0.0
        self._context = self.first = _load(settings)
        self._tell_ends()

    def serve(
        self,
        connection: ssl.SSLObject,
        _server_name: str | None,
        _listening: ssl.SSLContext,
    ) -> None:
        """Begin a handshake by the newest files; called for each, also without SNI."""
        stamp = _stamp(self._settings)
        if stamp != self._stamp and self._is_due(stamp):
            self._reload(stamp)
        connection.context = self._context

    def _is_due(self, stamp: Stamp) -> bool:
        is_known = self._refused is not None and self._refused[0] == stamp
        return not is_known or time.monotonic() >= self._retry_at

    def _reload(self, stamp: Stamp) -> None:
        try:
            self._context = _load(self._settings)
        except SettingsError as error:
            refused = (stamp, str(error))
            if refused != self._refused:
                _log.warning("the TLS files of before are served on: %s", error)
            self._refused = refused
            self._retry_at = time.monotonic() + _RETRY_SECONDS
        else:
            self._stamp, self._refused = stamp, None
            self._tell_ends()
            _log.info("TLS files were replaced, and are served from now on")

    def _tell_ends(self) -> None:
        settings = self._settings
        for certificate, file in (
            (Certificate.SERVED, settings.cert_file),
            (Certificate.CLIENT_CA, settings.client_ca_file),
        ):
            end = None if file is None else first_end(file)
            if end is not None:
                self._note_end(certificate, end)


def _stamp(settings: TlsSettings) -> Stamp:
    return tuple(_stamp_of(file) for _, file in _files(settings))


def _stamp_of(file: Path) -> tuple[int, int, int, int] | None:
    try:
        # Through symbolic links: kubelet replaces one to change a whole Secret.
        found = file.stat()
    except OSError:
        return None
    # The last tells of rights that were given, too.
    return found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def _files(settings: TlsSettings) -> list[tuple[str, Path]]:
    """Name every file, with its flag."""
    files = [("--tls-cert", settings.cert_file), ("--tls-key", settings.key_file)]
    if settings.client_ca_file is not None:
        files.append(("--client-ca", settings.client_ca_file))
    return files


def _load(settings: TlsSettings) -> ssl.SSLContext:
    for flag, file in _files(settings):
        _check_readable(flag, file)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    # A session of before would be resumed without a look at the client CA of now.
    context.options |= ssl.OP_NO_TICKET
    context.num_tickets = 0
    _load_own(context, settings.cert_file, settings.key_file)
    if settings.client_ca_file is not None:
        _trust(context, "--client-ca", settings.client_ca_file)
        context.verify_mode = ssl.CERT_OPTIONAL
    return context


def _check_readable(flag: str, file: Path) -> None:
    try:
        with file.open("rb") as opened:
            opened.read(1)
    except OSError as error:
        raise SettingsError(f"{flag} {file}: {_reason(error)}") from error


def _load_own(context: ssl.SSLContext, cert_file: Path, key_file: Path) -> None:
    """Load our certificate; OpenSSL's own errors do not say which file they mean."""
    _trust(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), "--tls-cert", cert_file)

    def refuse_password() -> NoReturn:
        # Without this, OpenSSL asks for it on the terminal.
        raise SettingsError(
            f"--tls-key {key_file}: is encrypted, and nobody is there to enter the "
            f"password; `openssl pkey -in {key_file}` prints it decrypted"
        )

    try:
        context.load_cert_chain(cert_file, key_file, password=refuse_password)
    except ssl.SSLError as error:
        raise SettingsError(_why_no_pair(error, cert_file, key_file)) from error
    except OSError as error:
        raise SettingsError(f"--tls-key {key_file}: {_reason(error)}") from error


def _why_no_pair(error: ssl.SSLError, cert_file: Path, key_file: Path) -> str:
    if error.reason in _PEM_LIB:
        return f"--tls-key {key_file}: holds no private key in PEM that can be read"
    if "MISMATCH" in error.reason:
        return f"--tls-key {key_file}: is not the key of --tls-cert {cert_file}"
    reason = error.reason.lower().replace("_", " ")
    return f"--tls-cert {cert_file}: cannot be served: {reason}"


def _trust(context: ssl.SSLContext, flag: str, file: Path) -> None:
    try:
        context.load_verify_locations(file)
    except ssl.SSLError as error:
        raise SettingsError(
            f"{flag} {file}: holds no certificate in PEM that can be read"
        ) from error
    except OSError as error:
        raise SettingsError(f"{flag} {file}: {_reason(error)}") from error


def _reason(error: OSError) -> str:
    return error.strerror or os.strerror(error.errno or 0)
