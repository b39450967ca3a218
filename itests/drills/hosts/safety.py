"""Safety on, everywhere: nodes take only TLS, tokens and certificates from their clients, only TLS
from each other, and no lease that could be guessed; and all clients have what that takes. Each Redis
and Sentinel speaks nothing but TLS at its port, with those who show a certificate; the judge has their
unix sockets. The driver asks nodes at their operators' port. For ./dev drill --safe, and for some tests.

What nodes are to know of it is in `Safety.settings_at`, what clients do is a Manner, and what Redis is
started with is `certificates`: another kind of safety is switched on there. The clients' identity is in
Redis alone, so what a fault does to Redis it does to that, too: the driver makes it once
(`Safety.introduce_clients`), and nodes have to keep it.

The switch is one for the process: a drill's rows, clients and nodes are made in many places, and
none of them is about this. Row 32 is, and gives its clients manners of its own.

ZooKeeper's protocol has no TLS.
"""

import hashlib
import http.client
import json
import secrets
import ssl
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from harness.certificates import Certificates
from harness.dueqctl import DONE
from harness.network import SUBNET, VIP, VIP6
from harness.wait import wait_until

ADMIN_PORT = 8001
IDENTITY = "drill"  # of all clients
IDENTITIES = "dq:{0}:i"  # their key in Redis
KNOWN_S = 120
HOSTS = 60  # whose addresses the certificate has
NAMES = ",".join([*(f"IP:{SUBNET}.{number}" for number in range(1, HOSTS)), f"IP:{VIP}", f"IP:{VIP6}"])

_current = None  # pylint: disable=invalid-name


@dataclass(frozen=True)
class Manner:
    """How a client speaks: in TLS, with those for whom `ca` vouches, and showing a certificate (its
    file, and its key's); with the token in a file. What is None is not done."""

    ca: Path = None
    token_file: Path = None
    certificate: tuple = None

    @cached_property
    def context(self):
        """Of TLS, or None."""
        if not self.ca:
            return None
        made = ssl.create_default_context(cafile=self.ca)
        if self.certificate:
            made.load_cert_chain(*self.certificate)
        return made

    @cached_property
    def headers(self):
        """That each request has."""
        if not self.token_file:
            return {}
        return {"Authorization": f"Bearer {self.token_file.read_text().strip()}"}

    @property
    def json(self):
        """For a client that is a program of its own."""
        words = {"ca": self.ca, "token_file": self.token_file, "certificate": self.certificate}
        return json.dumps({name: value for name, value in words.items() if value}, default=str)

    @staticmethod
    def of_json(text):
        words = json.loads(text)
        if "token_file" in words:
            words["token_file"] = Path(words["token_file"])
        return Manner(**words)

    @property
    def scheme(self):
        return "https" if self.ca else "http"

    def connection_to(self, address, timeout_s):
        """An HTTP connection, not connected yet."""
        if not self.ca:
            return http.client.HTTPConnection(*address, timeout=timeout_s)
        return http.client.HTTPSConnection(*address, timeout=timeout_s, context=self.context)


PLAIN = Manner()


def current():
    """The Safety that is on; None: clients speak plain, and need no token."""
    return _current


def certificates():
    """Those that every Redis is to speak TLS with; None: plain."""
    return _current.certificates if _current else None


def manner():
    """Of all clients."""
    return _current.manner if _current else PLAIN


def turn_on(directory):
    global _current  # pylint: disable=global-statement
    _current = Safety(directory)


def turn_off():
    global _current  # pylint: disable=global-statement
    _current = None


class Safety:
    """An authority, a certificate for all nodes, another one and an identity for all clients."""

    def __init__(self, directory):
        self.certificates = Certificates(directory, names=NAMES, is_of_yesterday=True)  # row 17
        token_file = directory / "token"
        write_token(token_file)
        self.manner = Manner(self.certificates.ca, token_file,
                             (self.certificates.client, self.certificates.client_key))
        self._settings = {
            **self.certificates.settings(http="required", gmq="required", admin="required"),
            **self.certificates.store_tls, "tls.client_ca": self.certificates.ca,
            "access.in_redis": True, "gmq.as": IDENTITY,  # gmq's clients have no token
            "ha.peer.tls": "required", "queue.lease_check": "require"}

    def introduce_clients(self, nodes):
        """At the first node's socket; until all these nodes, which have been launched, know them."""
        def is_made():
            return nodes[0].is_ready_or_ended() and nodes[0].ctl(
                "token", "new", IDENTITY, "--roles", "all", "--token-from",
                self.manner.token_file).code == DONE

        wait_until(is_made, f"{nodes[0].name} makes the clients' identity", KNOWN_S, interval_s=0.1)
        for node in nodes:
            wait_until(lambda node=node: node.http("/v1/access")[0] == 200,
                       f"{node.name} knows the clients", KNOWN_S, interval_s=0.1)

    @staticmethod
    def wait_kept(store):
        """Until Redis has the identity, whatever it has lost: nodes that know it tell Redis."""
        def is_there(master):
            with master.client() as client:
                return client.keys(IDENTITIES)  # of a Redis Cluster only one has it

        wait_until(lambda: any(map(is_there, store.masters)), "Redis has the clients' identity", KNOWN_S,
                   interval_s=0.1)

    def settings_at(self, address):
        """Of a node there."""
        return {**self._settings, "admin.listen": f"{address}:{ADMIN_PORT}"}


def write_token(path):
    """Makes one; how a file of identities knows it."""
    token = secrets.token_urlsafe(32)
    write_secret(path, token + "\n")
    return hashlib.sha256(token.encode()).hexdigest()


def write_secret(path, text):
    path.write_text(text, encoding="utf-8")
    path.chmod(0o600)
