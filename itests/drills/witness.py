"""What shows that a fault has struck. A row's witness() looks at things before the fault is made, and
gives a function that looks again while it lasts: processes are gone or stopped, frames were dropped,
a number is another. Nothing of what the row believes to have done counts. A round whose fault cannot
be seen is void, and fails.
"""

from harness.process import is_alive, is_dying


def changed(look):
    """What it gives is another than before."""
    before = look()
    return lambda: look() != before


def hurt(pids, count=1):
    """So many of these processes, at least, are gone, or stopped by a signal."""
    running = [pid for pid in pids if pid and is_running(pid)]
    return lambda: sum(not is_running(pid) for pid in running) >= count


def all_hurt(pids):
    return hurt(pids, max(1, len(pids)))


def is_running(pid):
    """Neither gone, nor a zombie, nor stopped, nor killed a moment ago."""
    return is_alive(pid, dead="ZXTt") and not is_dying(pid)


def cut(network):
    """Each cut that there is has kept frames from passing; but for one whose frames all meet a cut
    before it."""
    def are_dropped():
        met = set()
        for each in network.cuts:
            own = set(each.rules) - met
            met |= own
            if own and not each.dropped():
                return False
        return bool(met)

    return are_dropped


def workers(nodes):
    """Their process ids; of those that live."""
    return [node.worker_pid for node in nodes if node.process]


def run_ids(servers):
    """Of each life of a Redis another; None: it does not answer."""
    return [_run_id(server) for server in servers]


def _run_id(server):
    if not server.is_running or not is_running(server.process.pid):
        return None
    with server.client() as client:
        return client.info("server")["run_id"]
