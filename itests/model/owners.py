"""Acknowledging by bare id, as gmq's clients do: whose hand-over is meant.

That of this connection, else the newest of this node, else the current one. The lease is never
told, so the model gives each such hand-over a name of its own.
"""

from typing import NamedTuple

from model.life import GONE, GONE_LIFE, RESERVED
from model.waiting import Waits

TOKEN = "of gmq "  # what the names of such leases begin with


class Owned(NamedTuple):
    node: int
    consumer: object  # its number, or its name as one that waits
    topic: str
    id: str
    lease: str


class Owners(Waits):
    def __init__(self, topics):
        super().__init__(topics)
        self.owned = []      # what the nodes remember, newest last
        self.doubtful = []   # what they may have forgotten

    def owns(self, node, consumer, topic, id, lease):
        self.owned.append(Owned(node, consumer, topic, id, lease))

    def acked_by_id(self, consumer, topic, id, span, code):
        """Of an id that no other topic has."""
        mine = [each for each in self.owned if (each.node, each.topic, each.id) ==
                (self.at, topic, id)]
        own = [each for each in mine if each.consumer == consumer]
        # With the newest of the node that is stale, the node asks for the current one, too.
        if any(each in self.doubtful for each in mine):
            leases = [None, *(each.lease for each in own)]
        else:
            leases = [own[-1].lease if own else None]
        before = {life.lease for life in self.lives(topic, id, span)}

        def outcomes(life):
            for lease in leases:
                yield from _with_own(life, lease) if lease else _with_current(life)

        self.answered(topic, id, span, outcomes, code)
        used = (own or mine)[-1:]
        if used and code in ("ok", "not_found"):
            if own or code == "not_found" or before == {used[0].lease}:
                self.owned.remove(used[0])
            else:
                self.doubtful.append(used[0])


def _with_own(life, lease):
    if life.state == RESERVED and life.lease == lease:
        yield "ok", GONE_LIFE
    else:
        yield "not_found" if life.state == GONE else "not_owner", life


def _with_current(life):
    """What the bucket remembers may be older than the job's place, or gone."""
    if life.state == RESERVED and life.lease.startswith(TOKEN):
        yield "ok", GONE_LIFE
        return
    yield "not_found", life
    if life.state != GONE:
        yield "not_owner", life
