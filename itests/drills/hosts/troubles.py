"""What keeps a Redis from its work, without ending it (but for one): how it is made, and undone."""

from dataclasses import dataclass
from typing import Callable

import redis

from drills.witness import all_hurt, changed
from harness.wait import wait_until

NOBODY = ("127.0.0.1", "1")


@dataclass(frozen=True)
class Trouble:
    """`refuses`: a push is answered with an error, else it waits until the trouble is over.
    `serves`: jobs that are due come all the same. `says`: is in the log of a node then. `error`:
    Redis answers with it, and nobody speaks of it."""

    make: Callable
    heal: Callable
    witness: Callable
    says: str = None
    refuses: bool = False
    serves: bool = False
    error: str = None


def _tell(*words):
    """A command for Redis."""
    def tell(cluster):
        with cluster.redis.client() as client:
            client.execute_command(*words)

    return tell


def _end_by_full_disk(cluster):
    """With a sync before every answer Redis ends rather than answer without."""
    cluster.store.fill_disk()
    cluster.redis.process.wait()


def _empty_and_start(cluster):
    cluster.store.empty_disk()
    if cluster.redis.process.returncode is not None:
        cluster.redis.start()


def _set_password(cluster):
    """Whoever is connected would stay so."""
    with cluster.redis.client() as client:
        client.config_set("requirepass", "another")
    _with_password(cluster, lambda client: (client.client_kill_filter(_type="normal"),
                                            client.client_kill_filter(_type="pubsub")))


def _unset_password(cluster):
    _with_password(cluster, lambda client: client.config_set("requirepass", ""))


def _with_password(cluster, call):
    with cluster.redis.client() as client:
        client.connection_pool.connection_kwargs["password"] = "another"
        call(client)


def _fill(cluster):
    """Until Redis says so: a page that is not full yet takes some more."""
    cluster.store.fill_disk()
    with cluster.redis.client() as client:
        wait_until(lambda: client.info("persistence")["aof_last_write_status"] == "err",
                   "Redis cannot write")


def _empty(cluster):
    """Redis tries its file again once a second: so long it is without a disk."""
    cluster.store.empty_disk()
    with cluster.redis.client() as client:
        wait_until(lambda: client.info("persistence")["aof_last_write_status"] == "ok",
                   "Redis writes to its disk again")


def _errors(word):
    """A witness: Redis has answered with that error, once more than before. A Redis that has begun
    to count anew has not."""
    def look(cluster):
        before = _count_of(cluster, word)
        return lambda: _count_of(cluster, word) > before

    return look


def _count_of(cluster, word):
    return _of_redis(cluster, lambda client: count_of_errors(client, word))


def count_of_errors(client, word):
    """So often that Redis has answered with it, and with no other."""
    said = client.info("errorstats").get(f"errorstat_{word}", "count=0")
    return int(said.partition("=")[2])


def _of_redis(cluster, ask):
    """With the password first: who asks must not be the one that is refused."""
    found = []
    try:
        _with_password(cluster, lambda client: found.append(ask(client)))
        return found[0]
    except (redis.AuthenticationError, redis.ResponseError):
        with cluster.redis.client() as client:
            return ask(client)


def _has_ended(cluster):
    return all_hurt([cluster.redis.process.pid])


def _is_replica(cluster):
    return changed(lambda: _of_redis(cluster, lambda client: client.role()[0]))


TROUBLES = {
    "out of memory": Trouble(_tell("CONFIG", "SET", "maxmemory", "1"),
                             _tell("CONFIG", "SET", "maxmemory", "0"), _errors("OOM"),
                             "OOM", refuses=True, serves=True),
    "disk full, everysec": Trouble(_fill, _empty,
                                   _errors("MISCONF"), "MISCONF", refuses=True),
    "disk full": Trouble(_end_by_full_disk, _empty_and_start, _has_ended),
    "read-only": Trouble(_tell("REPLICAOF", *NOBODY), _tell("REPLICAOF", "NO", "ONE"),
                         _is_replica, "this Redis is a replica"),
    "another password": Trouble(_set_password, _unset_password, _errors("NOAUTH"), "NOAUTH"),
    "without scripts": Trouble(_tell("SCRIPT", "FLUSH"), lambda cluster: None,
                               _errors("NOSCRIPT"), error="NOSCRIPT"),
}
