"""Certificates for tests: an authority, and whom it vouches for; made by the openssl program."""

import ssl
import subprocess
from pathlib import Path

from harness.build import ROOT, wallclock_library

TRIAL = ROOT / "tools" / "tls.sh"  # of ./dev tls


DAY_S = 86_400
HERE = "DNS:localhost,IP:127.0.0.1,IP:::1"


class Certificates:
    """`ca`, `server`, `server_key`, `client`, `client_key`, `redis`, `redis_key`: the files of an
    authority of its own. `days`: how long they are good. `names`: what clients call the servers, as
    openssl writes it. `is_of_yesterday`: were they made then, for clocks that are behind?"""

    def __init__(self, directory, days=365, names=HERE, is_of_yesterday=False):
        self.directory, self._names = Path(directory), names
        subprocess.run([TRIAL, self.directory, names], check=True, capture_output=True,
                       env={"PATH": "/usr/bin:/bin", "DUEQ_TLS_DAYS": str(days),
                            **(self._yesterday() if is_of_yesterday else {})})
        self.ca = self.directory / "ca.pem"
        self.server, self.server_key = self._pair("server")
        self.client, self.client_key = self._pair("client")
        self.redis, self.redis_key = self._pair("redis")

    def settings(self, **dialects):
        """Of a node: settings(http="required", gmq="optional")."""
        return {"tls.certificate": self.server, "tls.key": self.server_key,
                **{f"{word}.tls": mode for word, mode in dialects.items()}}

    def store(self, redis):
        """Settings of a node whose store.redis that is; it shows the client's certificate."""
        return {"store.redis": redis, **self.store_tls}

    @property
    def store_tls(self):
        return {"store.tls.ca": self.ca, "store.tls.certificate": self.client,
                "store.tls.key": self.client_key}

    def redis_conf(self):
        """Words of redis.conf, but for the ports: it speaks TLS with all, and asks for theirs."""
        return {"tls-cert-file": self.redis, "tls-key-file": self.redis_key,
                "tls-ca-cert-file": self.ca, "tls-replication": "yes", "tls-cluster": "yes"}

    def redis_client(self):
        """Words of redis-py, for a client of such a Redis."""
        return {"ssl": True, "ssl_ca_certs": str(self.ca), "ssl_certfile": str(self.client),
                "ssl_keyfile": str(self.client_key)}

    def context(self, certificate=None, key=None):
        """A client's, that trusts this authority, and shows a certificate."""
        made = ssl.create_default_context(cafile=self.ca)
        if certificate:
            made.load_cert_chain(certificate, key)
        return made

    def renew(self):
        """Another certificate for the server, with another key, in the same files."""
        subprocess.run(["openssl", "genpkey", "-algorithm", "EC", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-out", self.server_key], check=True,
                       capture_output=True)
        request = subprocess.run(
            ["openssl", "req", "-new", "-key", self.server_key, "-subj", "/CN=renewed",
             "-addext", f"subjectAltName={self._names}"],
            check=True, capture_output=True).stdout
        subprocess.run(["openssl", "x509", "-req", "-CA", self.ca, "-CAkey",
                        self.directory / "ca.key", "-copy_extensions", "copy", "-days", "365",
                        "-out", self.server], input=request, check=True, capture_output=True)

    def odd(self):
        """A client's certificate that demands what nobody knows; its key is `client_key`."""
        certificate = self.directory / "odd.pem"
        request = subprocess.run(
            ["openssl", "req", "-new", "-key", self.client_key, "-subj", "/CN=odd",
             "-addext", "1.2.3.4=critical,ASN1:NULL"], check=True, capture_output=True).stdout
        subprocess.run(["openssl", "x509", "-req", "-CA", self.ca, "-CAkey",
                        self.directory / "ca.key", "-copy_extensions", "copy", "-out", certificate],
                       input=request, check=True, capture_output=True)
        return certificate

    def ended(self):
        """A client's certificate of yesterday, and its key."""
        return self._ended("ended", self.client_key), self.client_key

    def redis_ended(self):
        """The same of a Redis."""
        return self._ended("redis-ended", self.redis_key), self.redis_key

    def _ended(self, name, key):
        certificate = self.directory / f"{name}.pem"
        request = subprocess.run(
            ["openssl", "req", "-new", "-key", key, "-subj", "/CN=late", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True).stdout
        self._sign_for_yesterday(request, certificate)
        return certificate

    def _sign_for_yesterday(self, request, to):
        """Only `openssl ca` takes dates; it wants files to keep its books in."""
        books = self.directory / "books"
        books.mkdir(exist_ok=True)
        (books / "index.txt").touch()
        (books / "request").write_bytes(request)
        (books / "conf").write_text(f"""
[ca]
default_ca = here
[here]
database = {books}/index.txt
new_certs_dir = {books}
rand_serial = yes
unique_subject = no
default_md = sha256
copy_extensions = copy
policy = any
[any]
commonName = supplied
""")
        subprocess.run(["openssl", "ca", "-batch", "-notext", "-config", books / "conf",
                        "-cert", self.ca, "-keyfile", self.directory / "ca.key",
                        "-startdate", "20200101000000Z", "-enddate", "20200102000000Z",
                        "-in", books / "request", "-out", to], check=True, capture_output=True)

    def _yesterday(self):
        """The environment of a program for which it is."""
        self.directory.mkdir(parents=True, exist_ok=True)
        offset = self.directory / "offset"
        offset.write_text(str(-DAY_S))
        return {"LD_PRELOAD": str(wallclock_library()), "DUEQ_WALLCLOCK": str(offset)}

    def _pair(self, name):
        return self.directory / f"{name}.pem", self.directory / f"{name}.key"
