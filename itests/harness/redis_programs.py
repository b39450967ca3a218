"""Programs for store.redis_server: a real redis-server with something wrong with it.

They are called redis-server themselves, so that the process has its name from the first moment.
"""

from harness.build import slowsync_library


def slow_redis(directory, sync_ms):
    """Every fsync takes `sync_ms` longer."""
    return _program(directory, f'LD_PRELOAD="{slowsync_library()}" DUEQ_SLOWSYNC_MS={sync_ms} '
                               'exec redis-server "$@"')


def redis_slow_to_load(directory, key_us):
    """It takes `key_us` for each command of its append-only file."""
    return _program(directory, f'exec redis-server "$@" --key-load-delay {key_us}')


def redis_with_little_disk(directory, kib):
    """A file of it can have so much; then its writes fail, as they do on a disk that is full."""
    return _program(directory, f'trap "" XFSZ; ulimit -f {2 * kib}; exec redis-server "$@"')


def redis_that_fails(directory, words):
    """It says so and ends."""
    return _program(directory, f'echo "{words}"; exit 1')


class RemovableRedis:
    """Does not start while it is removed; what runs is not affected."""

    def __init__(self, directory):
        self._mark = directory / "redis-server.removed"
        self.program = _program(directory, f'[ -e "{self._mark}" ] && exit 1\n'
                                           'exec redis-server "$@"')

    def remove(self):
        self._mark.touch()

    def put_back(self):
        self._mark.unlink()


def _program(directory, script):
    program = directory / "redis-server"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return program
