"""A ZooKeeper ensemble of real servers, on loopback ports or each on a host of a network.

    ensemble = Ensemble(directory, tick_ms=500).start()
    ensemble.addresses                 # "127.0.0.1:21811,127.0.0.1:..."
    ensemble.leader().kill()
    ensemble.wait_serving()

A server serves when it says its mode (the four-letter word `srvr`); without a quorum it only
says that it does not. What a server wrote stays in its directory over kill() and start().
"""

import shutil
import socket
from contextlib import nullcontext
from pathlib import Path

from harness.ports import free_port
from harness.process import Process, Restartable
from harness.wait import wait_until

JARS = "/usr/share/java/zookeeper.jar:/usr/share/java/slf4j-simple.jar"
JAVA = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
        "-Dorg.slf4j.simpleLogger.defaultLogLevel=info",
        "-Dorg.slf4j.simpleLogger.showDateTime=true"]
MAIN = "org.apache.zookeeper.server.quorum.QuorumPeerMain"
CLIENT, QUORUM, ELECTION = "client", "quorum", "election"
WELL_KNOWN = {CLIENT: 2181, QUORUM: 2888, ELECTION: 3888}
START_S = 60  # a JVM beside sanitizers and others


class Server(Restartable):
    """One of an ensemble. Its files are in `directory`; `host` is None on loopback."""

    def __init__(self, directory, number, host=None):
        self.directory, self.number, self.host = Path(directory), number, host
        self.address = host.address if host else "127.0.0.1"
        self.ports = WELL_KNOWN if host else {use: free_port() for use in WELL_KNOWN}
        self.process = None

    @property
    def client_address(self):
        return f"{self.address}:{self.ports[CLIENT]}"

    @property
    def member_line(self):
        return (f"server.{self.number}={self.address}:{self.ports[QUORUM]}:"
                f"{self.ports[ELECTION]}")

    def configure(self, lines):
        """Writes its configuration; `lines` are those that all servers have in common."""
        data = self.directory / "data"
        data.mkdir(parents=True, exist_ok=True)
        (data / "myid").write_text(f"{self.number}\n")
        own = [f"dataDir={data}", f"clientPort={self.ports[CLIENT]}",
               f"clientPortAddress={self.address}"]
        (self.directory / "zoo.cfg").write_text("\n".join([*own, *lines, ""]))

    # ---- life ----

    def start(self):
        """Without waiting: a server serves when there is a quorum."""
        argv = [*JAVA, "-cp", f"{self.directory}:{JARS}", MAIN, self.directory / "zoo.cfg"]
        self.process = Process(self.host.command(argv) if self.host else argv,
                               self.directory / "zookeeper.log")

    def wipe(self):
        """All its data, as if the disk were new. It must not run."""
        assert not self.is_running
        shutil.rmtree(self.directory / "data/version-2", ignore_errors=True)

    # ---- what it says ----

    def ask(self, word, timeout_s=1):
        """The answer to a four-letter word; "" when there is none."""
        try:
            with self.host.entered() if self.host else nullcontext(), socket.create_connection(
                    (self.address, self.ports[CLIENT]), timeout_s) as connection:
                connection.sendall(word.encode())
                return _read_all(connection)
        except OSError:
            return ""

    def facts(self, word="srvr"):
        """srvr: {"Mode": "leader", ...}; mntr has tabs between name and value."""
        separator = "\t" if word == "mntr" else ": "
        lines = (line.partition(separator) for line in self.ask(word).splitlines())
        return {name: value for name, found, value in lines if found}

    def mode(self):
        """leader, follower, or None while it does not serve."""
        return self.facts().get("Mode")

    def log(self):
        return self.process.output() if self.process else ""


class Ensemble:
    """`hosts`: one for each server; None: `size` servers on loopback."""

    def __init__(self, directory, tick_ms=500, size=3, hosts=None, min_session_ms=1000):
        hosts = hosts or [None] * size
        self.tick_ms = tick_ms
        self.servers = [Server(Path(directory) / f"zk{number}", number, host)
                        for number, host in enumerate(hosts, 1)]
        lines = [f"tickTime={tick_ms}", "initLimit=20", "syncLimit=5",
                 f"minSessionTimeout={min_session_ms}", "maxSessionTimeout=60000",
                 "maxClientCnxns=0", "admin.enableServer=false",
                 "4lw.commands.whitelist=srvr,ruok,mntr,cons,conf",
                 *(server.member_line for server in self.servers)]
        for server in self.servers:
            server.configure(lines)

    @property
    def addresses(self):
        return ",".join(server.client_address for server in self.servers)

    def start(self):
        """Until all serve."""
        for server in self.servers:
            server.start()
        self.wait_serving()
        return self

    def wait_serving(self):
        """Until all servers that run serve, and one of them leads."""
        def is_served():
            modes = [server.mode() for server in self.servers if server.is_running]
            return None not in modes and modes.count("leader") == 1

        wait_until(is_served, "the ZooKeeper servers serve", START_S, interval_s=0.05)

    def leader(self):
        """Waits for one."""
        def found():
            return next((each for each in self.servers if each.mode() == "leader"), None)

        return wait_until(found, "ZooKeeper has a leader", START_S, interval_s=0.02)

    def followers(self):
        return [server for server in self.servers if server.mode() == "follower"]

    def server_of(self, address):
        """The server with this client address."""
        return next(each for each in self.servers if each.client_address == address)

    def destroy(self):
        """kill -9 of all."""
        for server in self.servers:
            server.kill()


def _read_all(connection):
    text = b""
    while True:
        piece = connection.recv(65536)
        if not piece:
            return text.decode()
        text += piece
