"""One of the two servers, as its clients of one sequence see it."""


import os
import select
import signal
import time
from collections import Counter, deque

from beanstalkd.steps import CLOSE, NOBODYS_ID, REFERENCE, SHUT
from harness.beanstalkd import connect, reply_bytes
from harness.wait import wait_until

PATIENCE_S = 5    # with what the other server has answered
QUIET_TURNS = 4   # so many turns of beanstalkd's loop without an answer: there is none to come
TURN_BYTES = 128  # it reads at least so much in a turn, though it may skip what it reads
ENDED = b"<the end>"
BARRIER, ITS_REPLY = b"?\r\n", b"UNKNOWN_COMMAND\r\n"  # which no statistics count


class Link:
    """A connection: what it was answered, and how much is asked. `asked` is None where what was sent
    may have any number of answers."""

    def __init__(self, port):
        self.socket = connect(port)
        self.buffer = b""
        self.replies = []
        self.asked = 0
        self.is_open = True

    def read(self):
        """Once, and it does not wait; the new replies."""
        try:
            came = self.socket.recv(1 << 17)
        except ConnectionResetError:
            came = b""
        self.buffer += came
        new = []
        while size := reply_bytes(self.buffer):
            new.append(self.buffer[:size])
            self.buffer = self.buffer[size:]
        if not came:
            new += [self.buffer] if self.buffer else []
            new.append(ENDED)
            self.buffer, self.is_open = b"", False
        self.replies += new
        return new

    @property
    def is_answered(self):
        return not self.is_open or (self.asked is not None and len(self.replies) >= self.asked)

    @property
    def holds_up(self):
        """May commands stand behind one that waits? What becomes of them with the connection's end is a
        matter of moments."""
        return self.is_open and (self.asked is None or self.asked - len(self.replies) > 1)


class Side:
    """`lie`: what is made of each reply before the client sees it, see mutants.py; None: nothing."""

    def __init__(self, server, lie=None):
        self._server = server
        self._lie = lie
        self.control = Link(server.port)
        self.reset()

    def reset(self):
        """Before a sequence. What was put stays known until it is cleaned away."""
        self.links = {}
        self.told = {}             # {connection: [reply, as the client saw it]}
        self.ids, self.keys = {}, {}  # {name of a job: id}, {id: name}
        self._given = {}           # {connection: ids of jobs that it was given}
        self._polled = select.poll()
        self._by_file = {}
        self.controls = Counter()  # commands of our own, by name
        self._queue = deque()

    # ---- steps ----

    def link(self, conn):
        """The connection of that name: a new one where the last has ended."""
        link = self.links.get(conn)
        if link is None or not link.is_open or link.socket.fileno() < 0:
            link = self.links[conn] = Link(self._server.port)
            self.told.setdefault(conn, [])
            self._polled.register(link.socket, select.POLLIN)
            self._by_file[link.socket.fileno()] = (conn, link)
        return link

    def do(self, step, given):
        """Sends it, and waits for nothing. `given`: {connection: names of jobs it was given}."""
        link = self.link(step.conn)
        if step.what == CLOSE:
            self._forget(step.conn, link)
        elif step.what == SHUT:
            self._send(link, None)
        else:
            self._send(link, REFERENCE.sub(lambda match: self._id_of(match, given), step.what))
        if step.replies < 0 or link.asked is None:
            link.asked = None
        else:
            link.asked += step.replies

    def drain(self):
        """It takes no puts from now on."""
        os.kill(self._server.pid, signal.SIGUSR1)
        wait_until(lambda: b"draining: true" in self.ask("stats"), "it drains", interval_s=0)

    def _send(self, link, data):
        try:
            if data is None:
                link.socket.shutdown(1)
            else:
                link.socket.sendall(data)
        except OSError:
            pass  # it has ended: what the client reads says so

    def _id_of(self, match, given):
        conn, is_given, number = match[1].decode(), match[2], int(match[3])
        name = match[0]
        if is_given:
            names = given.get(conn, ())
            name = names[-1 - number] if number < len(names) else None
        return b"%d" % self.ids.get(name, NOBODYS_ID)

    def _forget(self, conn, link):
        self._polled.unregister(link.socket)
        del self._by_file[link.socket.fileno()]
        link.is_open = False
        link.socket.close()

    # ---- answers ----

    def pump(self, wait_ms):
        """What has come, or comes within that time; is there anything?"""
        events = self._polled.poll(wait_ms)
        for file, _ in events:
            conn, link = self._by_file[file]
            for reply in link.read():
                self._take(conn, reply)
            if not link.is_open:
                self._forget(conn, link)
        return bool(events)

    def _take(self, conn, reply):
        told = self.told[conn]
        if reply.startswith(b"INSERTED "):
            count = sum(each.startswith(b"INSERTED ") for each in told)
            key = b"@%s%d@" % (conn.encode(), count)
            self.ids[key] = int(reply[9:])
            self.keys[int(reply[9:])] = key
        elif reply.startswith(b"RESERVED "):
            self._given.setdefault(conn, []).append(int(reply.split()[1]))
        told += [reply] if self._lie is None else self._lie(reply)

    def given(self):
        """{connection: names of the jobs that it was given}"""
        return {conn: [self.name_of(id) for id in ids] for conn, ids in self._given.items()}

    def name_of(self, id):
        """Of a job whose INSERTED nobody has read, the next one, as of the other server's."""
        if id not in self.keys:
            self.keys[id] = b"@?%d@" % sum(name.startswith(b"@?") for name in self.ids)
            self.ids[self.keys[id]] = id
        return self.keys[id]

    @property
    def is_answered(self):
        return all(link.is_answered for link in self.links.values())

    def barrier(self):
        """All that was sent before this has been read by a server of one thread."""
        self.control.socket.sendall(BARRIER)
        self._control_reply()

    def settle(self, sent_bytes):
        """As beanstalkd: until all is answered, or nothing more is coming."""
        quiet = 0
        while quiet < QUIET_TURNS + sent_bytes // TURN_BYTES:
            self.barrier()
            quiet = 0 if self.pump(0) else quiet + 1
            if self.is_answered and not self.may_wake_others:
                return

    @property
    def may_wake_others(self):
        return len(self.links) > 1 and not all(link.is_answered for link in self.links.values())

    def follow(self, told):
        """Until as much has come as the other server's clients were told; False: it did not."""
        deadline = None
        while any(len(self.told.get(conn, ())) < len(replies) for conn, replies in told.items()):
            deadline = deadline or time.monotonic() + PATIENCE_S
            if time.monotonic() > deadline:
                return False
            self.pump(100)
        self.pump(0)
        return True

    # ---- questions of our own ----

    def ask(self, name, *words):
        """By the control connection; the whole reply."""
        self.controls[name] += 1
        self.control.socket.sendall(b" ".join([name.encode(), *words]) + b"\r\n")
        return self._control_reply()

    def ask_all(self, name, all_words):
        """Pipelined; the replies."""
        self.controls[name] += len(all_words)
        self.control.socket.sendall(b"".join(b"%s %s\r\n" % (name.encode(), words) for words in all_words))
        return [self._control_reply() for _ in all_words]

    def _control_reply(self):
        while not self._queue:
            self._queue.extend(self.control.read())
        return self._queue.popleft()

    # ---- the end ----

    def close(self):
        for conn, link in list(self.links.items()):
            if link.socket.fileno() >= 0:
                self._forget(conn, link)
        self.control.socket.close()
