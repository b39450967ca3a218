"""A row about a cluster that becomes safe while its clients work: what doc/operations/upgrade.md
says, with the settings that stand there.

Its steps are the YAML blocks of a section. The comment that each begins with is what the drill goes
by: how nodes take it, and what all clients must be able to do before. So the page cannot say
anything else than what was tried.
"""

import re
import shutil
import socket
from collections import Counter, namedtuple
from contextlib import contextmanager, suppress
from itertools import accumulate
from operator import le

import yaml

from drills.clients.client import ENDED, UNREACHABLE, Client, GmqClient
from drills.graceful import few_of, late_spans
from drills.hosts.cluster import SECRET, Cluster, Plan
from drills.hosts.nodes import GMQ_PORT, HTTP_PORT
from drills.hosts.safety import NAMES, PLAIN, Manner, write_secret, write_token
from drills.rows.row import Row, row
from drills.witness import changed
from harness.build import ROOT
from harness.certificates import Certificates
from harness.gmq import GmqError, LostConnection, PythonClient
from harness.network import VIP
from harness.node import answer_of
from harness.wait import wait_until
from judge.journal import AWAY, LEAVING, Role, Vip, now_ms

PAGE, SECTION = ROOT / "doc/operations/upgrade.md", "From open to safe, without a pause"
ETC = "/etc/dueq"  # of the page
FILES = ("server.pem", "server.key", "identities", "secret", "secret.new", "clients.pem")
OPEN = {"ha.secret": "", "ha.secret_file": f"{ETC}/secret", "ha.peer.tls": "off"}
KINDS = ((Client, HTTP_PORT, True), (Client, HTTP_PORT, False), (GmqClient, GMQ_PORT, True),
         (GmqClient, GMQ_PORT, False))  # (who, where, keeps its connection)
PATIENT_S = 30   # of a client: no slow machine is to be a failure
MOVED_MS = 500   # from when the address has left a host until clients have heard it, on a busy machine
GRAIN_MS = 1     # nodes write whole milliseconds
PORTS = ("http", "gmq")
PEERS = ("dueq_peers_missing", "dueq_peers_plain")

# `number`; `is_reload`, else nodes are restarted; `ability` of all clients before it, or None;
# `settings`, with dots.
Step = namedtuple("Step", "number is_reload ability settings")


def steps_of(text):
    """Of that section of a page."""
    section = text.partition(f"\n## {SECTION}\n")[2].partition("\n## ")[0]
    steps = []
    for block in re.findall(r"^```yaml\n(.*?)^```", section, re.MULTILINE | re.DOTALL):
        number, how, ability = re.match(r"# (\d+): (reload|restart)(?:, when clients (.*))?\n",
                                        block).groups()
        steps.append(Step(int(number), how == "reload", ability, yaml.safe_load(block)))
    assert [each.number for each in steps] == list(range(1, len(steps) + 1)) != []
    return steps


def states_of(steps):
    """The settings before the first, and behind each."""
    return list(accumulate((each.settings for each in steps), lambda old, new: {**old, **new},
                           initial=OPEN))


def is_taken(settings, manner):
    """Does a node with them serve such a client of HTTP? By what the pages say of the keys."""
    mode = settings.get("http.tls", "off")
    if mode == ("off" if manner.ca else "required"):
        return False
    if settings.get("access.file") and not (manner.token_file or settings.get("http.as")):
        return False
    return not (manner.ca and settings.get("tls.client_ca") and not manner.certificate
                and settings.get("tls.client") != "optional")


class OpenCluster(Cluster):
    """At first; its clients know the address alone. Each node has the page's files."""

    def __enter__(self):
        self._own = {}  # settings that are not the page's, by node
        self.certificates = Certificates(self.directory / "certificates", names=NAMES)
        self._files = self.directory / "files"
        self._files.mkdir()
        self.abilities = self._make_files()
        return super().__enter__()

    def _make_files(self):
        """{what the page calls it: the manner of clients with it}"""
        own, token = self.certificates, self._files / "token"
        write_secret(self._files / "identities",
                     "everybody produce,consume,inspect\ngmq produce,consume topics=drill-*\n"
                     f"drill all token={write_token(token)}\n")
        write_secret(self._files / "secret", SECRET)
        write_secret(self._files / "secret.new", SECRET[::-1])
        shutil.copy(own.ca, self._files / "clients.pem")
        self._take_certificate()
        return {None: PLAIN, "speak TLS": Manner(own.ca), "have tokens": Manner(own.ca, token),
                "have certificates": Manner(own.ca, token, (own.client, own.client_key))}

    def _take_certificate(self):
        shutil.copy(self.certificates.server, self._files / "server.pem")
        shutil.copy(self.certificates.server_key, self._files / "server.key")

    def renew(self):
        """Another certificate, on all machines; nodes have not read it yet."""
        self.certificates.renew()
        self._take_certificate()
        for node in self.nodes:
            self._bring_files(node.name)

    def _bring_files(self, name):
        etc = self.directory / name / "etc"
        etc.mkdir(exist_ok=True)
        for file in FILES:
            shutil.copy(self._files / file, etc)

    def _node(self, name, program=None, settings=()):
        node = super()._node(name, program, settings)
        self._own[name] = {key: value for key, value in node.settings.items() if key not in OPEN}
        self.configure(node, OPEN)
        self._bring_files(name)
        return node

    def configure(self, node, state):
        """What its file says, with the page's settings in that state, and no others of the page."""
        etc = str(self.directory / node.name / "etc")
        node.settings = {**self._own[node.name],
                         **{key: value.replace(ETC, etc) for key, value in state.items()}}

    def addresses(self):
        return [(VIP, HTTP_PORT)]


@row("32", "from open to safe, and back: TLS, tokens, the nodes' secret, clients' certificates")
class Rolling(Row):
    """Clients of HTTP and gmq, over connections that stay and that do not, push, pop and acknowledge
    through the address all the time. No request may fail, but where an orderly change of the leader
    crosses it: an idle connection is closed when a request is on its way, or the address leaves a
    host that has just taken a connection. Clients then ask again; how often is in the note. Where
    nodes only read their settings again, no connection ends.

    Back is the same the other way round. To safe the certificate is renewed on the way, too."""

    speaks_plain = True
    rounds = 10
    changes = 2  # there are two steps that take a restart
    variants = ("to safe", "back to open")
    short_variants = ("to safe",)
    rehearsed_variants = ()
    seen = late = 0  # rounds; those in which a leader was late, or without a lease

    def __init__(self):
        self.crossed = Counter()

    def plan(self, variant):
        return Plan(vip=VIP, settings={"gmq.pop_wait": "300ms"})  # for each of them is waited for

    def cluster(self, directory, plan):
        return OpenCluster(directory, plan)

    def load_options(self, cluster):
        def make(number):
            kind, port, keeps = KINDS[number % len(KINDS)]
            return kind([(VIP, port)], number, PATIENT_S, PATIENT_S, keeps)

        return {"make_client": make, "rate": 30, "producers": 4, "consumers": 8,
                "ttrs_ms": (4000, 4000, 0)}

    def hit(self, drill):
        """Clients do not know with which node they talk."""
        return None

    # ---- the change ----

    def witness(self, drill):
        """Each node takes others than before."""
        found = [changed(lambda node=node: ways_of(drill.cluster, node))
                 for node in drill.cluster.nodes]
        return lambda: all(is_another() for is_another in found)

    def fault(self, drill):
        self.since_ms, self.before, self.ended = now_ms(), drill.leader.name, []
        steps = steps_of(PAGE.read_text(encoding="utf-8"))
        states = states_of(steps)
        if drill.variant == "to safe":
            self._to_safe(drill, steps, states)
        else:
            self._back(drill, steps, states)

    def _to_safe(self, drill, steps, states):
        for step, state in zip(steps, states[1:]):
            if step.ability:
                self._change_over(drill, step.ability)
            self._take(drill, step, state)
            if step.ability == "speak TLS":
                self._renew(drill, state)

    def _back(self, drill, steps, states):
        abilities = [None, *(each.ability for each in steps if each.ability)]
        for step, state in zip(reversed(steps), reversed(states[:-1])):
            self._take(drill, step, state)
            if step.ability:
                self._change_over(drill, abilities[abilities.index(step.ability) - 1])

    @staticmethod
    def _change_over(drill, ability):
        manner = drill.cluster.abilities[ability]
        drill.load.change_over(manner)
        for node in drill.cluster.nodes:
            node.manner = manner
        _wait_said(drill, ability)

    def _take(self, drill, step, state):
        """On all nodes."""
        if step.is_reload:
            self._reload_all(drill, state)
        else:
            self._restart_all(drill, state)
        drill.load.wait_answered()

    def _reload_all(self, drill, state):
        with self._no_end(drill):
            for node in drill.cluster.nodes:
                drill.cluster.configure(node, state)
                node.reload()
                wait_taken(drill.cluster, node, state)
            drill.load.wait_answered()

    def _renew(self, drill, state):
        """The files first, on all machines."""
        before = {node: wait_until(lambda node=node: _serial(node), f"{node.name} shows one")
                  for node in drill.cluster.nodes}
        drill.cluster.renew()
        self._reload_all(drill, state)
        for node, serial in before.items():
            wait_until(lambda node=node, serial=serial: _serial(node) not in (None, serial),
                       f"{node.name} shows the new certificate")

    @contextmanager
    def _no_end(self, drill):
        """Notes which connections have not stayed, though their clients keep them."""
        kept = {client: client.made for client in drill.load.clients if client.keeps}
        since_ms = now_ms()
        yield
        self.ended += [(since_ms, now_ms()) for client, made in kept.items() if client.made != made]

    @staticmethod
    def _restart_all(drill, state):
        """On a busy machine the lead may move by itself meanwhile."""
        for node in (*drill.cluster.standbys(), drill.cluster.leader()):
            if node.leads:
                drill.begin_again()
                wait_until(lambda node=node: not node.leads or node.ctl("switchover").code == 0,
                           f"{node.name} gives the lead away")
                drill.cluster.wait_steady()
            drill.cluster.configure(node, state)
            node.stop()
            node.start()
            drill.cluster.wait_steady()
            _wait_good(node)
        if state["ha.peer.tls"] != "off":
            for node in drill.cluster.nodes:
                wait_until(lambda node=node: metrics_of(node, *PEERS) == [0, 0],
                           f"{node.name} speaks TLS with the others")

    # ---- what clients have seen ----

    def check(self, drill, elected):
        events = [each for each in drill.cluster.events() if isinstance(each, (Role, Vip))
                  and each.boot_ms >= self.since_ms]
        late = late_spans(events, self.before, drill.cluster.stalls())
        failures = [each for client in drill.load.clients for each in client.failures
                    if each.sent_ms >= self.since_ms]
        crossed, excused, wrong = judge_failures(failures, moves_of(events), late)
        self.seen += 1
        self.late += bool(excused)
        self.crossed += crossed
        if wrong:
            yield f"{len(wrong)} requests failed: {self._told(wrong)}"
        self.crossings = crossed.total(), len(moves_of(events)) * len(drill.load.clients)
        ended = [span for span in self.ended
                 if not any(begin <= span[1] and span[0] <= end for begin, end in late)]
        if ended:
            yield f"{len(ended)} connections ended when nodes read their settings again"
        yield from self._ways_left(drill)

    def check_times(self, drill):
        """Each client may be met by each change, and finds the next leader then."""
        crossed, most = self.crossings
        if crossed > most:
            yield f"changes of the leader have crossed {crossed} requests, more than {most}"

    def _told(self, failures):
        first = failures[0]
        return (f"{dict(Counter(each.how for each in failures))}, the first "
                f"{first.sent_ms - self.since_ms:.0f} ms after the beginning: {first.why}")

    @staticmethod
    def _ways_left(drill):
        """Does each node take whom it should of gmq's clients? Token or not is nothing to them."""
        last = "have certificates" if drill.variant == "to safe" else None
        for node in drill.cluster.nodes:
            def found(node=node):
                return [name for name, manner in drill.cluster.abilities.items()
                        if takes_gmq(node, manner)]

            try:
                wait_until(lambda found=found: found() == [last], "it takes just those", PATIENT_S)
            except AssertionError:
                yield f"{node.name} takes clients of gmq that {found()}, and should {last}"

    def check_often(self, cluster):
        if self.late > few_of(self.seen):
            yield f"a leader was late, or without a lease, in {self.late} of {self.seen} rounds"

    @property
    def note(self):
        told = ", ".join(f"{count} over {kind} connections"
                         for kind, count in sorted(self.crossed.items()))
        return f"requests that an orderly change of the leader crossed: {told}" if told else ""


def moves_of(events):
    """(from, until) of each time in which a node handed the address over."""
    spans = []
    for leaving in (each for each in events if isinstance(each, Vip) and each.state == LEAVING):
        away_ms = min((each.boot_ms for each in events if isinstance(each, Vip)
                       and (each.node, each.state) == (leaving.node, AWAY)
                       and each.boot_ms >= leaving.boot_ms), default=leaving.boot_ms)
        spans.append((leaving.boot_ms - GRAIN_MS, away_ms + MOVED_MS))
    return spans


def judge_failures(failures, moves, late):
    """(how many an orderly change has crossed, over "new" and "kept" connections; how many a late
    leader explains; the others). Only a request without an answer is ever excused."""
    crossed, excused, wrong = Counter(), 0, []
    for each in failures:
        is_open = each.how in (ENDED, UNREACHABLE)
        if is_open and _meets(each, moves):
            crossed["new" if each.is_first else "kept"] += 1
        elif is_open and _meets(each, late):
            excused += 1
        else:
            wrong.append(each)
    return crossed, excused, wrong


def _meets(failure, spans):
    return any(begin <= failure.ended_ms and failure.sent_ms <= end for begin, end in spans)


# ---- what a node says, and whom it takes ----

# {ability: by which numbers the page tells that there are clients without it: these less those}
OTHERS = {"speak TLS": (['dueq_connections_accepted_total{protocol="%s"}' % each for each in PORTS],
                        ['dueq_tls_handshakes_total{protocol="%s"}' % each for each in PORTS]),
          "have tokens": (['dueq_requests_without_token_total{protocol="http"}'], [])}


def metrics_of(node, *names):
    """None where it does not answer."""
    try:
        found = node.metrics()
    except AssertionError:
        return None
    return [found[name] for name in names]


def others_of(node, ability):
    """How many clients have come without it so far; None where it does not say."""
    these, those = OTHERS[ability]
    found = metrics_of(node, *these, *those)
    return found and sum(found[:len(these)]) - sum(found[len(these):])


def _wait_said(drill, ability):
    """Until all nodes say that there are no others any more, while each client asks."""
    def is_said():
        before = [others_of(node, ability) for node in drill.cluster.nodes]
        drill.load.wait_answered()
        after = [others_of(node, ability) for node in drill.cluster.nodes]
        return None not in (*before, *after) and all(map(le, after, before))

    if ability in OTHERS:
        wait_until(is_said, f"nodes say that all clients {ability}")


def ways_of(cluster, node):
    """Which manners it takes over HTTP, in order."""
    return [_is_served(node, manner) for manner in cluster.abilities.values()]


def _is_served(node, manner):
    with node.host.entered():
        return answer_of(f"{manner.scheme}://{node.host.address}:{HTTP_PORT}/v1/status",
                         context=manner.context, headers=manner.headers)[0] == 200


def wait_taken(cluster, node, state):
    """Until it serves just those whom it should: its worker hears of a reload a moment after the
    log says it."""
    wanted = [is_taken(state, manner) for manner in cluster.abilities.values()]
    wait_until(lambda: ways_of(cluster, node) == wanted, f"{node.name} serves {wanted}")


def takes_gmq(node, manner):
    with node.host.entered():
        try:
            with PythonClient(GMQ_PORT, manner.context, node.host.address) as client:
                client.ack("nobody")
        except GmqError as error:
            return str(error).startswith("not_found")
        except (LostConnection, OSError):
            return False
    return False


def _serial(node):
    """Of its certificate; None where it does not answer."""
    with suppress(OSError), node.host.entered(), \
            socket.create_connection((node.host.address, HTTP_PORT)) as raw, \
            node.manner.context.wrap_socket(raw, server_hostname=node.host.address) as made:
        return made.getpeercert()["serialNumber"]
    return None


def _wait_good(node):
    """As the page says: before the next one."""
    said = []

    def is_good():
        said[:] = [node.ctl("check").text]
        return "A failover would succeed now." in said[0]

    try:
        wait_until(is_good, f"{node.name}: dueqctl check", interval_s=0.1)
    except AssertionError as error:
        raise AssertionError(f"{error}; it says {said}") from None
