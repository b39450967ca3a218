"""Safety on, everywhere: each node takes only TLS and tokens from its clients, and all clients have
both. For ./dev drill --safe, and for one row of the tests.

The switch is one for the process: a drill's rows, clients and nodes are made in many places, and
none of them is about this.
"""

import hashlib
import http.client
import secrets
import ssl
import subprocess

from harness.build import ROOT
from harness.network import SUBNET

HOSTS = 60  # whose addresses the certificate has

_current = None  # pylint: disable=invalid-name


def current():
    """The Safety that is on; None: clients speak plain, and need no token."""
    return _current


def turn_on(directory):
    global _current  # pylint: disable=global-statement
    _current = Safety(directory)


def turn_off():
    global _current  # pylint: disable=global-statement
    _current = None


class Safety:
    """An authority, a certificate for all nodes, and one identity for all clients."""

    def __init__(self, directory):
        directory.mkdir(parents=True, exist_ok=True)
        names = ",".join(f"IP:{SUBNET}.{number}" for number in range(1, HOSTS))
        subprocess.run([ROOT / "tools/tls.sh", directory, names], check=True, capture_output=True)
        self.token = secrets.token_urlsafe(32)
        self.ca = directory / "ca.pem"
        identities = directory / "identities"
        identities.write_text("drill all token=" + hashlib.sha256(self.token.encode()).hexdigest()
                              + "\n")
        identities.chmod(0o600)
        self.settings = {"http.tls": "required", "gmq.tls": "required",
                         "tls.certificate": directory / "server.pem",
                         "tls.key": directory / "server.key",
                         "access.file": identities}
        self.context = ssl.create_default_context(cafile=self.ca)

    @property
    def headers(self):
        return {"Authorization": f"Bearer {self.token}"}


def connection_to(address, timeout_s):
    """An HTTP connection, not connected yet, as the drill speaks."""
    if _current is None:
        return http.client.HTTPConnection(*address, timeout=timeout_s)
    return http.client.HTTPSConnection(*address, timeout=timeout_s, context=_current.context)


def headers():
    """That each request has."""
    return {} if _current is None else _current.headers
