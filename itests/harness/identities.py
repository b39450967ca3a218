"""A node that has nothing but identities, in the words of /v1/identities; and that loses answers."""

import contextlib
import http.server
import json
import threading
import urllib.parse

ERRORS = {"not_found": 404, "wrong_state": 409, "duplicate": 409, "unauthorized": 401, "unknown": 504,
          "unavailable": 503}


class Identities:
    """`lines` by name, each with its version. `trouble`: what happens to the next changes, one by
    one: "lost" (done, and not answered), "gone" (neither done nor answered), a function (called before
    the change: somebody else was faster), or an error's word."""

    def __init__(self, **lines):
        self.rows = {name: (line, 1) for name, line in lines.items()}
        self.version = 1
        self.trouble, self.changes = [], []

    def put(self, name, line):
        self.version += 1
        self.rows[name] = (line, self.version)

    def line(self, name):
        return self.rows[name][0]

    def tokens(self, name):
        return dict(word.split("=") for word in self.line(name).split()[2:]).get("token", "").split(",")

    def shown(self):
        def row(name, line, version):
            roles, *rest = line.split()[1:]
            members = dict(word.split("=") for word in rest)
            told = {"name": name, "version": version, "line": line}
            if "colour" in members:  # of such a line a node can tell nothing else
                return told
            return told | {"roles": roles.split(","), "topics": members.get("topics", "*").split(","),
                           "tokens": len(members.get("token", "").split(",")), "until_ms": None}
        return {"identities": [row(name, *pair) for name, pair in self.rows.items()]}

    def change(self, name, line, version):
        """The answer to a change: the error's word, or the new version."""
        line_now, version_now = self.rows.get(name, (None, 0))
        if line is not None and line == line_now:
            return version_now  # said again
        if version != version_now:
            return "wrong_state"
        if line is None:
            del self.rows[name]
            return version + 1
        self.put(name, line)
        return self.version


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *unused):
        pass

    def answer(self, word_or_object):
        if isinstance(word_or_object, str):
            status, body = ERRORS[word_or_object], {"error": {"code": word_or_object, "message": "no"}}
        else:
            status, body = 200, word_or_object
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        assert self.path == "/v1/identities"
        self.answer(self.server.identities.shown())

    def change(self, name, line, version):
        known = self.server.identities
        known.changes.append((name, line, version))
        trouble = known.trouble.pop(0) if known.trouble else None
        if callable(trouble):
            trouble()
        elif trouble in ERRORS:
            return self.answer(trouble)
        result = known.change(name, line, version) if trouble != "gone" else None
        if trouble in ("lost", "gone"):
            self.close_connection = True
            return None
        return self.answer(result if isinstance(result, str) else {"name": name, "version": result})

    def do_PUT(self):
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert set(body) == {"line", "version"}
        self.change(self.path.rpartition("/")[2], body["line"], body["version"])

    def do_DELETE(self):
        path, _, query = self.path.partition("?")
        self.change(path.rpartition("/")[2], None, int(urllib.parse.parse_qs(query)["version"][0]))


@contextlib.contextmanager
def serving(identities):
    """The URL of a node that has these."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.identities, server.daemon_threads = identities, True
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()
