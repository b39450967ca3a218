"""What may befall a Redis that is there: what clients see of it, what the log says, and that the
node goes on by itself when it is over, with nothing lost and nothing moved by half.

Each trouble is brought upon a Redis under load, and taken away again. Those that only delay
are a pause; those that Redis answers with an error are one for the client, too, word for word.
"""

import re
import threading
import time
from contextlib import contextmanager

import pytest
import redis as redis_client

from crash.watch import TTR_S, WatchedLoad, assert_all_is_well, held, node_on
from harness.process import frozen
from harness.wait import holds_for, wait_until

STORE_ERROR = "store_error: the store refused the operation; nothing happened"


class Bed:
    """A Redis and a node on it, under load, and a hand on the Redis that no trouble cuts off."""

    def __init__(self, redis, node, load):
        self.redis, self.node, self.load = redis, node, load
        self.hand = redis.client()
        self.hand.ping()

    def config(self, name, value):
        self.hand.config_set(name, value)

    def cut(self):
        """All connections of the node, its wake-ups' as well."""
        self.hand.client_kill_filter(_type="normal", skipme=True)
        self.hand.client_kill_filter(_type="pubsub")

    def wait_for_held(self):
        wait_until(lambda: held(self.node) > 0, "requests wait")

    def wait_for_nobody(self):
        """All that goes on is in flight, or waits."""
        def is_still():
            before = self.load.pushed()
            return holds_for(lambda: self.load.pushed() == before, 0.1)

        wait_until(is_still, "nothing goes on")

    def wait_for_error(self, text):
        wait_until(lambda: any(text in each[1] for each in self.load.errors.seen()),
                   f"a client sees {text}")


# ---- the troubles: each is a block ----


@contextmanager
def stopped(bed):
    with frozen(bed.redis.process.pid):
        bed.wait_for_nobody()
        yield


@contextmanager
def paused_clients(bed):
    """Of what writes: else nobody could end it."""
    bed.hand.client_pause(60000, all=False)
    bed.wait_for_nobody()
    yield
    bed.hand.client_unpause()


@contextmanager
def cut_connections(bed):
    for _ in range(5):
        bed.cut()
        bed.load.wait_for_more(20)
    yield


@contextmanager
def forgotten_scripts(bed):
    for _ in range(5):
        bed.hand.script_flush()
        bed.load.wait_for_more(20)
    yield


@contextmanager
def replica(bed):
    """Of a master that is not there."""
    bed.hand.slaveof("127.0.0.1", "1")
    bed.wait_for_held()
    yield
    bed.hand.slaveof("NO", "ONE")


@contextmanager
def loading(bed):
    """It takes its time, and says so to whoever asks."""
    bed.load.wait_for_more(300)  # so that it takes its time
    bed.redis.stop()
    bed.redis.launch(key_load_delay=1000)
    hand = bed.redis.client()
    wait_until(lambda: is_loading(hand), "it loads")
    bed.wait_for_held()
    yield
    hand.config_set("key-load-delay", 0)
    wait_until(lambda: not is_loading(hand), "it is loaded")
    bed.hand = hand


def is_loading(hand):
    try:
        return hand.info("persistence")["loading"] == 1
    except redis_client.exceptions.ConnectionError:
        return False


@contextmanager
def busy_script(bed):
    bed.config("busy-reply-threshold", 50)
    other = bed.redis.client()

    def spin():
        with pytest.raises(redis_client.exceptions.ResponseError, match="killed"):
            other.eval("while true do end", 0)

    spinning = threading.Thread(target=spin)
    spinning.start()
    bed.wait_for_held()
    yield
    bed.hand.script_kill()
    spinning.join()


@contextmanager
def no_room_for_clients(bed):
    bed.config("maxclients", 1)
    bed.cut()
    bed.wait_for_held()
    yield
    bed.config("maxclients", 1000)


@contextmanager
def password_set(bed):
    bed.config("requirepass", "secret")
    bed.cut()
    bed.wait_for_held()
    yield
    bed.config("requirepass", "")


@contextmanager
def password_changed(bed):
    bed.config("requirepass", "other")
    bed.cut()
    bed.wait_for_held()
    yield
    bed.config("requirepass", "right")


@contextmanager
def no_memory(bed):
    bed.config("maxmemory", 1)
    bed.wait_for_error("store_error")
    yield
    bed.config("maxmemory", 0)


@contextmanager
def no_disk(bed):
    """The snapshot cannot be written, and so Redis takes no writes: a directory is in the way."""
    in_the_way = bed.redis.directory / "dump.rdb"
    in_the_way.mkdir()
    bed.config("save", "3600 1000000")
    bed.hand.bgsave()
    bed.wait_for_error("store_error")
    yield
    in_the_way.rmdir()
    wait_until(lambda: bed.hand.info("persistence")["rdb_bgsave_in_progress"] == 0, "it failed")
    bed.hand.bgsave()
    wait_until(lambda: bed.hand.info("persistence")["rdb_last_bgsave_status"] == "ok",
               "the snapshot is written")


@contextmanager
def no_replicas(bed):
    bed.config("min-replicas-to-write", 1)
    bed.wait_for_error("store_error")
    yield
    bed.config("min-replicas-to-write", 0)


# name: (trouble, what the log says of it)
PAUSES = {
    "SIGSTOP": (stopped, ""),
    "CLIENT PAUSE": (paused_clients, ""),
    "CLIENT KILL": (cut_connections, "Server closed the connection|Connection reset by peer"),
    "SCRIPT FLUSH": (forgotten_scripts, ""),
    "REPLICAOF": (replica, "READONLY|this Redis is a replica"),
    "LOADING": (loading, "Redis is loading its data"),
    "BUSY": (busy_script, "BUSY"),
    "maxclients": (no_room_for_clients, "max number of clients reached"),
    "requirepass": (password_set, "NOAUTH"),
    "password": (password_changed, "WRONGPASS"),
}
# The same, and who is told.
ERRORS = {
    "maxmemory": (no_memory, "push: .*OOM", {"Push"}),
    "MISCONF": (no_disk, "MISCONF", {"Push", "Pop", "Ack"}),
    "NOREPLICAS": (no_replicas, "NOREPLICAS", {"Push", "Pop", "Ack"}),
}


@pytest.fixture
def make_bed(make_redis, make_node, dice, tmp_path):
    def make(name, ttr_s):
        options, settings = {}, {}
        if name == "password":
            options["requirepass"] = "right"
            settings["store.password_file"] = tmp_path / "password"
            settings["store.password_file"].write_text("right\n")
            settings["store.password_file"].chmod(0o600)
        redis = make_redis(appendonly="yes", appendfsync="always", **options)
        node = node_on(redis, make_node, settings)
        return Bed(redis, node, WatchedLoad(node.gmq_port, dice, ttr_s))

    return make


def lines_of_trouble(node):
    return [line for line in node.output().splitlines()
            if re.search(r" (warn|error) +redis ", line)]


def suffer(bed, trouble, words):
    """It is said why: in some lines a second at most, however many requests met it."""
    with bed.load:
        bed.load.wait_for_more()
        began = time.monotonic()
        with trouble(bed):
            wait_until(lambda: re.search(words, "\n".join(lines_of_trouble(bed.node))),
                       f"the log says {words}")
        took_s = time.monotonic() - began
        bed.load.wait_for_more()
    assert_all_is_well(bed.redis, bed.load)
    lines = lines_of_trouble(bed.node)
    print(*lines, sep="\n")
    assert len(lines) <= 12 + 3 * took_s, lines


@pytest.mark.parametrize("name", PAUSES)
def test_a_pause(name, make_bed):
    bed = make_bed(name, TTR_S)
    suffer(bed, *PAUSES[name])
    assert bed.load.errors.seen() == set()


@pytest.mark.parametrize("name", ERRORS)
def test_an_error_that_is_told(name, make_bed):
    """An ack that was refused is not said again by this client: its lease has to end."""
    trouble, words, methods = ERRORS[name]
    bed = make_bed(name, ttr_s=2)
    suffer(bed, trouble, words)
    assert {text for _, text in bed.load.errors.seen()} == {STORE_ERROR}
    assert {method for method, _ in bed.load.errors.seen()} <= methods
