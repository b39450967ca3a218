"""The slow name service, asked by the system's own resolver on another host."""

import subprocess
import time

from drills.hosts.names import SlowNames


def ask(host, name):
    return subprocess.run(host.command(["getent", "ahostsv4", name]), check=False, text=True,
                          capture_output=True).stdout


def test_it_answers_late_and_only_what_it_knows(network):
    asking, serving = network.add_host("a"), network.add_host("dns")
    names = SlowNames(serving, {"zk1.drill": "10.1.2.3"})
    names.serve(asking)
    try:
        assert ask(asking, "zk1.drill").startswith("10.1.2.3 ")
        assert ask(asking, "zk9.drill") == ""
        names.delay_s = 0.3
        since = time.monotonic()
        assert ask(asking, "zk1.drill").startswith("10.1.2.3 ")
        assert time.monotonic() - since >= 0.3
    finally:
        names.close()
