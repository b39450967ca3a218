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
        own = self._newest([each for each in mine if each.consumer == consumer])
        others = self._newest([each for each in mine if each.consumer != consumer])
        has_own = bool(own) and own[-1] not in self.doubtful
        leases = [each.lease for each in own]

        def outcomes(life):
            for lease in leases:
                yield from _with_own(life, lease)
            if not has_own:  # with the newest of the node that is stale, too
                yield from _with_current(life)

        self._prune(topic, span)
        before = self.lives(topic, id, span)
        self.answered(topic, id, span, outcomes, code)
        if code == "ok":
            acked = {life.lease for life in before
                     if any(said == "ok" for said, _ in outcomes(life))}
            self._forget([each for each in mine if each.lease in acked], len(acked) == 1)
        elif code == "not_found":
            # The node forgets what it has asked the store for, where the job itself was gone. Else
            # it has asked all buckets, which knew of no hand-over: what it remembers is stale, and
            # its consumer shall hear that.
            are_gone = {life.state == GONE for life in before}
            asked = own if has_own else own + others
            if True in are_gone:
                self._forget(asked, len(asked) == 1 and (has_own or are_gone == {True}))

    def _newest(self, owned):
        """Newest first, to the first that the node remembers for sure: it takes one of these."""
        newest = []
        for each in reversed(owned):
            newest.append(each)
            if each not in self.doubtful:
                break
        return newest

    def _forget(self, owned, is_sure):
        """The node has forgotten one of these, surely or perhaps."""
        for each in owned:
            if is_sure:
                self.owned.remove(each)
            if is_sure and each in self.doubtful:
                self.doubtful.remove(each)
            elif not is_sure and each not in self.doubtful:
                self.doubtful.append(each)


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
