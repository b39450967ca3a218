"""A Redis of the operator's own, which a node is pointed at with store.redis."""

from pathlib import Path

import redis

from harness.ports import free_port
from harness.process import Process, Restartable
from harness.wait import wait_until

REDIS_PORT, LOOPBACK = 6379, "127.0.0.1"


def contents(client):
    """Everything in a Redis, by key: what must not change."""
    return {key: client.dump(key) for key in client.scan_iter(count=1000)}


def stored_ids(client):
    """The ids of all live jobs."""
    keys = list(client.scan_iter(match="dq:{*}:j:*", count=1000))
    return {id.decode() for key in keys for id in client.hkeys(key)}


class RedisServer(Restartable):
    """On a unix socket in `directory`; `options` are redis.conf words: appendonly="yes",
    min_replicas_to_write=1. `host`: of a network, None for this machine."""

    def __init__(self, directory, host=None, env=None, **options):
        self.directory = Path(directory)
        self._host, self._env = host, env
        self.directory.mkdir(parents=True, exist_ok=True)
        self.socket = self.directory / "redis.sock"
        self._options = {"port": 0, "save": "", "appendonly": "no", "dir": self.directory,
                         "unixsocket": self.socket, **options}
        self.process = None

    def start(self):
        self.launch()
        wait_until(self._answers, "redis-server answers")
        return self

    def launch(self, **more):
        """Without waiting for anything; `more` options for this life, with _ for -."""
        words = ["redis-server"]
        for name, value in {**self._options, **more}.items():
            words += [f"--{name.replace('_', '-')}", str(value)]
        self.process = Process(self._host.command(words) if self._host else words,
                               self.directory / "redis.log", self._env)

    def client(self):
        password = self._options.get("requirepass")
        return redis.Redis(unix_socket_path=str(self.socket), password=password,
                           socket_timeout=20)

    @property
    def address(self):
        return f"unix:{self.socket}"

    def destroy(self):
        self.kill()

    def _answers(self):
        assert self.process.returncode is None, f"redis-server ended:\n{self.process.output()}"
        try:
            return self.client().ping()
        except redis.exceptions.ConnectionError:
            return False


class TcpRedis(RedisServer):
    """It listens on a port, too: of loopback, or the well-known one of its host. `tls`: Certificates
    with which it speaks nothing but TLS there."""

    def __init__(self, directory, host=None, env=None, tls=None, **options):
        self.host = host
        self.ip = host.address if host else LOOPBACK
        self.port = REDIS_PORT if host else free_port()
        ports = {"port": 0, "tls-port": self.port, **tls.redis_conf()} if tls else {
            "port": self.port}
        super().__init__(directory, host, env, bind=self.ip, **{**ports, **options})

    @property
    def tcp_address(self):
        return f"{self.ip}:{self.port}"

    def info(self, section="replication"):
        with self.client() as client:
            return client.info(section)
