"""The preloaded wall clock: it is set while a program runs, and the monotonic one is not."""

import time

from harness.build import wallclock_library
from harness.redis_server import RedisServer

HOUR_S = 3600
A_WHILE_S = 60


def test_redis_is_an_hour_ahead_and_back(tmp_path):
    path = tmp_path / "ahead"
    path.write_text("0\n")
    redis = RedisServer(tmp_path / "redis", env={"LD_PRELOAD": str(wallclock_library()),
                                                 "DUEQ_WALLCLOCK": str(path)}).start()
    try:
        for ahead_s in (0, HOUR_S, -HOUR_S, 0):
            path.write_text(f"{ahead_s}\n")
            assert abs(redis.client().time()[0] - time.time() - ahead_s) < A_WHILE_S
        assert redis.client().info("server")["uptime_in_seconds"] < A_WHILE_S
    finally:
        redis.destroy()
