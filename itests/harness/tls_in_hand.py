"""TLS whose bytes for the wire are at hand: for clients whose sockets are not to block, or that send
them in parts."""

import ssl


class TlsInHand:
    """A client's; `name`: whom the certificate is to name. `is_up`: the handshake is over."""

    def __init__(self, context, name):
        self._in, self._out = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._in, self._out, server_hostname=name)
        self._unsent, self.is_up = b"", False

    def sent(self, data=b""):
        """What goes over the wire now; `data` waits for the handshake."""
        self._unsent += data
        return self.came(b"")[1]

    def came(self, data):
        """(what the other end has said, what goes over the wire in answer). Fails with an OSError
        where it cannot be understood."""
        self._in.write(data)
        said = b""
        try:
            if not self.is_up:
                self._tls.do_handshake()
                self.is_up = True
            if self._unsent:
                self._tls.write(self._unsent)
                self._unsent = b""
            while part := self._tls.read(1 << 16):
                said += part
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass  # all was read; behind a goodbye the end itself follows
        return said, self._out.read()
