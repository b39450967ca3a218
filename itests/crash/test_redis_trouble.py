"""What may befall a Redis that is there: what clients see of it, what the log says, and that the
node goes on by itself when it is over, with nothing lost and nothing moved by half.

Each trouble is brought upon a Redis under load, and taken away again. Those that only delay
are a pause; those that Redis answers with an error are one for the client, too, word for word.
"""

import re
import threading
from contextlib import contextmanager
from datetime import datetime

import pytest
import redis as redis_client

from crash.watch import TTR_S, WatchedLoad, assert_all_is_well, held, node_on
from harness.process import frozen
from harness.users import secret_file
from harness.wait import wait_until

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

    def wait_for_log(self, words):
        wait_until(lambda: re.search(words, "\n".join(lines_of_trouble(self.node))),
                   f"the log says {words}")

    def wait_for_error(self, text):
        self.load.goes_on = True
        wait_until(lambda: any(text in each[1] for each in self.load.errors.seen()),
                   f"a client sees {text}")
        self.load.goes_on = False


# ---- the troubles: each is a block ----


@contextmanager
def stopped(bed):
    with frozen(bed.redis.process.pid):
        bed.wait_for_held()
        yield


@contextmanager
def paused_clients(bed):
    """Of what writes: else nobody could end it."""
    bed.hand.client_pause(60000, all=False)
    bed.wait_for_held()
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
    """The node says each script again, and there is nothing to be told."""
    for _ in range(5):
        before = unknown_scripts(bed.hand)
        bed.hand.script_flush()
        wait_until(lambda: unknown_scripts(bed.hand) > before, "a script is not known any more")
        bed.load.wait_for_more(20)
    yield
    assert "NOSCRIPT" not in bed.node.output()


def unknown_scripts(hand):
    """So often it has said so; "count=7", or what a client library makes of that."""
    said = hand.info("errorstats").get("errorstat_NOSCRIPT", "count=0")
    return int(re.search(r"\d+", str(said)).group())


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


COMMAND_LINK = r"command link: unix:\S+/redis\.sock: "
# name: (trouble, what the log says of it; None: nothing)
PAUSES = {
    "SIGSTOP": (stopped, COMMAND_LINK + "no answer in time"),
    "CLIENT PAUSE": (paused_clients, COMMAND_LINK + "no answer in time"),
    "CLIENT KILL": (cut_connections,
                    COMMAND_LINK + "(Server closed the connection|Connection reset by peer)"),
    "SCRIPT FLUSH": (forgotten_scripts, None),
    "REPLICAOF": (replica, COMMAND_LINK + "(it answers: READONLY|this Redis is a replica)"),
    "LOADING": (loading, COMMAND_LINK + "Redis is loading its data"),
    "BUSY": (busy_script, COMMAND_LINK + "it answers: BUSY"),
    "maxclients": (no_room_for_clients, COMMAND_LINK + ".*max number of clients reached"),
    "requirepass": (password_set, COMMAND_LINK + ".*NOAUTH"),
    "password": (password_changed, COMMAND_LINK + ".*WRONGPASS"),
}
# Those of which the node hears nothing: it soon gives up a connection, never the requests.
SILENCE = {"SIGSTOP", "CLIENT PAUSE"}
IN_SILENCE = {"store.command_timeout": "1s", "store.breaker.failures": 0}
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
        if name in SILENCE:
            settings.update(IN_SILENCE)
        if name == "password":
            options["requirepass"] = "right"
            settings["store.password_file"] = secret_file(tmp_path / "password", "right")
        redis = make_redis(appendonly="yes", appendfsync="always", **options)
        node = node_on(redis, make_node, settings)
        return Bed(redis, node, WatchedLoad(node.gmq_port, dice, ttr_s))

    return make


def lines_of_trouble(node):
    return [line for line in node.output().splitlines()
            if re.search(r" (warn|error) +redis ", line)]


LINES_OF_A_LINK = 8  # a minute: node/store/redis/wire/error.h


def assert_is_said_briefly(lines):
    """However many requests and attempts met it. What counts is the log's own time: a link has
    so many lines a minute, errors that were answered two a second."""
    stamps = [datetime.fromisoformat(line.split("Z ")[0]) for line in lines]
    lasted_s = (stamps[-1] - stamps[0]).total_seconds() if lines else 0
    rest = lines
    for link in ("command link", "wake-up link"):
        of_it = [line for line in rest if f"] {link}: " in line]
        rest = [line for line in rest if line not in of_it]
        assert len(of_it) <= LINES_OF_A_LINK * (2 + lasted_s // 60), of_it
    assert len(rest) <= 2 * (2 + lasted_s), rest


def suffer(bed, trouble, words):
    """It is said why."""
    with bed.load:
        bed.load.wait_for_more()
        with trouble(bed):
            if words:
                bed.wait_for_log(words)
        bed.load.wait_for_more()
    assert_all_is_well(bed.redis, bed.load)
    lines = lines_of_trouble(bed.node)
    print(*lines, sep="\n")
    assert_is_said_briefly(lines)


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
