"""What operators are given beside the programs: alert rules, a dashboard, a unit for systemd, an
installation, pages whose links lead somewhere. All of it names what a real node has."""

import json
import os
import re
import shutil
import socket
import subprocess

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from harness.build import ROOT, build_dir, node_program
from harness.network import Network
from harness.wait import wait_until

ALERTS = ROOT / "conf/prometheus/alerts.yml"
DASHBOARD = ROOT / "conf/grafana/dueq.json"
UNIT = ROOT / "conf/systemd/dueq-node.service"
RUNBOOK = ROOT / "doc/operations/alerts.md"

OF_PROMETHEUS = {"cluster", "instance", "job"}  # labels of each target
OTHERS = {"up": set(), "redis_memory_used_bytes": set(), "redis_memory_max_bytes": set()}
WORD = re.compile(r'\b((?:dueq|process|redis)_[a-z_]+|up)\b(?:\{([^}]*)\})?')
MATCHER = re.compile(r'(\w+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
GROUPING = re.compile(r"\b(?:by|on)\s*\(([^)]*)\)")


def run(*words, **more):
    return subprocess.run([str(word) for word in words], text=True, capture_output=True,
                          check=False, **more)


def tool(name, package):
    """A program of a test package; where it is missing the test is skipped, but not in CI."""
    path = shutil.which(name)
    if not path and "CI" not in os.environ:
        pytest.skip(f"no {name}: apt-get install {package}")
    return path or name


# ---- what is in the files ----

def rules():
    groups = yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"]
    return [rule for group in groups for rule in group["rules"]]


def panels():
    return json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]


def dashboard_queries():
    """{where: expression}, variables replaced."""
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    found = {f"{panel['title']} {target['refId']}": target["expr"]
             for panel in panels() for target in panel.get("targets", [])}
    found.update((each["name"], each["expr"]) for each in board["annotations"]["list"])
    return {where: text.replace("$__rate_interval", "5m").replace("$cluster", ".*")
            .replace("$instance", ".*") for where, text in found.items()}


def queries():
    return {**{rule["alert"]: rule["expr"] for rule in rules()}, **dashboard_queries()}


# ---- what a node has ----

def page_with_jobs(node):
    text = node.http("/metrics")[1]
    return text if "\ndueq_next_due_seconds " in text else None


@pytest.fixture(scope="module")
def known(node):
    """{name of a sample: {label: its values}}"""
    with node.api() as api:
        api.push("a-topic")
        api.push("a-topic", delay_ms=3600000)
    with node.raw_client() as raw:
        raw.ask({"method": "Service.Push", "id": 1, "params": [{"id": "1", "topic": "again"}]})
        raw.ask({"method": "Service.Push", "id": 1, "params": [{"id": "1", "topic": "again"}]})
    page = wait_until(lambda: page_with_jobs(node), "the jobs have been counted")
    found = {name: {} for name in OTHERS}
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            labels = found.setdefault(sample.name, {})
            for label, value in sample.labels.items():
                labels.setdefault(label, set()).add(value)
    # No series where there is no virtual address: by their documents.
    for page in ("metrics.md", "vip.md"):
        text = (ROOT / "doc" / page).read_text(encoding="utf-8")
        found.update((name, {}) for name in re.findall(r"^\| `(dueq_vip_\w+)`", text, re.M))
    return found


def unknown_in(expression, known):
    """What of it no node has."""
    missing, labels = [], {"le"} | OF_PROMETHEUS
    for name, matchers in WORD.findall(re.sub(r'"[^"]*"', lambda m: m[0].replace("dueq", "-"),
                                              expression)):
        if name not in known:
            missing.append(name)
            continue
        labels |= set(known[name])
        for label, operator, value in MATCHER.findall(matchers):
            if label in OF_PROMETHEUS:
                continue
            if label not in known[name]:
                missing.append(f"{name}: {label}")
            elif value != ".*":
                words = value.split("|") if "~" in operator else [value]
                missing += [f"{name}: {label}={word}" for word in words
                            if word not in known[name][label]]
    for group in GROUPING.findall(expression):
        missing += [f"by {label}" for label in re.split(r"\s*,\s*", group.strip().rstrip(","))
                    if label not in labels]
    return missing


def test_every_name_and_label_is_one_that_a_node_has(known):
    for where, expression in queries().items():
        assert WORD.search(expression), where
        assert not unknown_in(expression, known), where


@pytest.mark.parametrize("expression, found", [
    ("sum(dueq_rolle)", "dueq_rolle"),
    ('dueq_role{rolle="leader"}', "dueq_role: rolle"),
    ('dueq_role{role="laeder"} == 1', "dueq_role: role=laeder"),
    ('dueq_role{role=~"leader|standbye"}', "dueq_role: role=standbye"),
    ("sum by (cluster, topik) (dueq_jobs)", "by topik"),
    ("rate(dueq_move_lateness_seconds[5m])", "dueq_move_lateness_seconds")])
def test_a_name_that_no_node_has_is_found(known, expression, found):
    assert unknown_in(expression, known) == [found]


# ---- alert rules ----

def test_each_alert_says_what_is_wrong_and_has_a_section_that_says_what_to_do():
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names) > 30
    for rule in rules():
        assert rule["labels"] in ({"severity": "critical"}, {"severity": "warning"}), rule
        assert rule["annotations"]["summary"], rule
        anchor = f"doc/operations/alerts.md#{rule['alert'].lower()}"
        assert rule["annotations"]["runbook"] == anchor
    sections = re.findall(r"^### (\w+)", RUNBOOK.read_text(encoding="utf-8"), re.M)
    assert sections == names, "in the order of the file"


def test_a_summary_names_labels_that_are_there(known):
    for rule in rules():
        there = OF_PROMETHEUS | {label for name, _ in WORD.findall(rule["expr"])
                                 for label in known[name]}
        for group in re.findall(r"\bby\s*\(([^)]*)\)", rule["expr"])[:1]:
            there &= set(re.split(r"\s*,\s*", group))
        named = set(re.findall(r"\$labels\.(\w+)", rule["annotations"]["summary"]))
        assert named and named <= there, rule["alert"]


def test_prometheus_reads_the_rules_and_they_fire_as_their_tests_say():
    promtool = tool("promtool", "prometheus")
    checked = run(promtool, "check", "rules", ALERTS)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = run(promtool, "test", "rules", ALERTS.parent / "alerts_test.yml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


# ---- the dashboard ----

def test_prometheus_reads_the_queries_of_the_dashboard(tmp_path):
    recorded = [{"record": f"query_{number}", "expr": text}
                for number, text in enumerate(dashboard_queries().values())]
    path = tmp_path / "queries.yml"
    path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": recorded}]}))
    checked = run(tool("promtool", "prometheus"), "check", "rules", path)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert f"{len(recorded)} rules found" in checked.stdout


def test_the_dashboard_can_be_imported_anywhere():
    board = json.loads(DASHBOARD.read_text(encoding="utf-8"))
    variables = [each["name"] for each in board["templating"]["list"]]
    assert variables == ["datasource", "cluster", "instance"]
    assert len({panel["id"] for panel in panels()}) == len(panels()) > 30
    for where, text in dashboard_queries().items():
        assert "$" not in text, f"{where}: a variable that there is not"
    assert set(re.findall(r'"uid": "(.*?)"', DASHBOARD.read_text(encoding="utf-8"))) == {
        "dueq", "${datasource}"}


def test_panels_do_not_lie_upon_each_other():
    taken = {}
    for panel in panels():
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= 24, panel["title"]
        for cell in ((x, y) for x in range(at["x"], at["x"] + at["w"])
                     for y in range(at["y"], at["y"] + at["h"])):
            assert cell not in taken, f"{panel['title']} and {taken[cell]}"
            taken[cell] = panel["title"]


# ---- systemd ----

@pytest.fixture
def unit(tmp_path):
    """The unit, with the node of this build in it, which is installed nowhere."""
    path = tmp_path / UNIT.name
    text = UNIT.read_text(encoding="utf-8")
    path.write_text(text.replace("ExecStart=dueq-node", f"ExecStart={node_program()}"))
    return path


def test_systemd_reads_the_unit_and_finds_it_hardened(unit):
    analyze = tool("systemd-analyze", "systemd")
    verified = run(analyze, "verify", "--man=no", "--recursive-errors=no", unit)
    of_ours = [line for line in verified.stderr.splitlines() if "dueq" in line]
    assert (verified.returncode, of_ours) == (0, [])
    judged = run(analyze, "security", "--offline=true", "--threshold=25", unit)
    assert judged.returncode == 0, judged.stdout[-200:]


def test_systemd_finds_a_word_that_it_does_not_know(unit):
    unit.write_text(unit.read_text().replace("WatchdogSec", "WachtdogSec"))
    verified = run(tool("systemd-analyze", "systemd"), "verify", "--man=no", unit)
    assert "WachtdogSec" in verified.stderr


def test_the_unit_gives_the_node_the_time_that_it_may_take():
    words = dict(line.split("=", 1) for line in UNIT.read_text(encoding="utf-8").splitlines()
                 if re.match(r"[A-Z]\w+=", line))
    default = re.search(r"^  stop_timeout: (\d+)s", (ROOT / "conf/dueq.yaml").read_text(), re.M)
    assert int(words["TimeoutStopSec"]) > int(default[1])
    assert words["KillMode"] == "mixed" and words["Type"] == "notify"
    assert set(words["RestartPreventExitStatus"].split()) == {"64", "78"}
    assert set(words["AmbientCapabilities"].split()) == {"CAP_NET_ADMIN", "CAP_NET_RAW"}


# ---- the firewall of the page ----

@pytest.fixture
def guarded(needs_network):  # pylint: disable=unused-argument
    """(a machine with the rules of deploy.md, another one of theirs, a stranger). What they drop they
    refuse here, or each attempt would have to wait."""
    page = (ROOT / "doc/operations/deploy.md").read_text(encoding="utf-8")
    text = re.search(r"^```\n(table inet dueq .*?)^```", page, re.M | re.S)[1]
    with Network() as network:
        machine, other, stranger = (network.add_host(name) for name in ("a", "b", "c"))
        text = text.replace("10.0.0.1, 10.0.0.2, 10.0.0.3", f"{machine.address}, {other.address}")
        text = text.replace("10.0.0.0/24", "10.213.0.0/24").replace(" drop", " reject with tcp reset")
        done = run(*machine.command(["nft", "-f", "-"]), input=text)
        assert done.returncode == 0, done.stderr
        yield machine, other, stranger


def test_the_firewall_of_the_page_lets_in_whom_it_names(guarded):
    machine, other, stranger = guarded
    listening = []
    with machine.entered():
        for port in (2181, 9503):
            listening.append(socket.create_server(("::", port), family=socket.AF_INET6,
                                                  dualstack_ipv6=True))

    def gets_in(host, address, port):
        with host.entered():
            try:
                socket.create_connection((address, port), timeout=30).close()
            except ConnectionRefusedError:
                return False
            return True

    assert gets_in(other, machine.address, 2181) and gets_in(machine, "::1", 2181)
    assert gets_in(stranger, machine.address, 9503), "clients"
    assert not gets_in(stranger, machine.address, 2181)
    for port in (2181, 9503):
        assert not gets_in(stranger, machine.address6, port), "IPv6 is no way around"
    for each in listening:
        each.close()


# ---- installation ----

def install(to):
    if not (build_dir() / "node/ctl/completion/fish").exists():
        pytest.skip("only a part was built")
    done = run("cmake", "--install", build_dir(), "--prefix", "/usr",
               env={**os.environ, "DESTDIR": str(to)})
    assert done.returncode == 0, done.stderr


def test_an_installation_has_all_that_a_system_needs(tmp_path):
    install(tmp_path)
    for path in ("usr/bin/dueq-node", "usr/bin/dueqctl", "usr/bin/dueq-backup",
                 "usr/share/man/man1/dueqctl.1", "usr/share/man/man8/dueq-node.8",
                 "usr/share/bash-completion/completions/dueqctl",
                 "usr/share/zsh/vendor-completions/_dueqctl",
                 "usr/share/fish/vendor_completions.d/dueqctl.fish", "usr/share/doc/dueq/dueq.yaml",
                 "usr/share/doc/dueq/operations.md", "usr/share/doc/dueq/operations/alerts.md",
                 "usr/lib/systemd/system/dueq-node.service", "usr/lib/sysusers.d/dueq.conf",
                 "usr/share/dueq/prometheus/alerts.yml", "usr/share/dueq/grafana/dueq.json"):
        assert (tmp_path / path).is_file(), path
    assert os.access(tmp_path / "usr/bin/dueq-backup", os.X_OK)
    completion = (tmp_path / "usr/share/bash-completion/completions/dueqctl").read_text()
    assert completion == run(build_dir() / "bin/dueqctl", "completion", "bash").stdout

    own = tmp_path / "etc/dueq/dueq.yaml"
    checked = run(tmp_path / "usr/bin/dueq-node", "--config", own, "--check-config")
    assert checked.returncode == 0, checked.stderr
    own.write_text("node: {id: mine}\n")
    install(tmp_path)
    assert own.read_text() == "node: {id: mine}\n", "the operator's own is never written over"


# ---- pages ----

def operations():
    return [ROOT / "doc/operations.md", *sorted((ROOT / "doc/operations").glob("*.md"))]


SETTING = re.compile(r"(?:node|log|store|gmq|http|limits|queue|ha|vip|warden)(?:\.[a-z_]+)+")


def wrong_names(text, commands, settings, metrics):
    """What a page names, and what there is not."""
    yield from (f"dueqctl {word}" for word in re.findall(r"\bdueqctl (?:--url \S+ )?([a-z]+)", text)
                if word not in commands)
    for word in re.findall(r"`([a-z_.]+)", text):
        if SETTING.fullmatch(word) and word not in settings:
            yield word
        elif word.startswith(("dueq_", "process_")) and word not in metrics:
            yield word


def test_commands_settings_and_metrics_of_the_pages_are_there(known):
    commands = re.findall(r"^  ([a-z]+)  ", run(build_dir() / "bin/dueqctl", "help").stdout, re.M)
    settings = SETTING.findall(run(node_program(), "--help").stdout)
    metrics = {*known, *(name.removesuffix("_count") for name in known)}
    assert "switchover" in commands and "store.breaker.after" in settings
    for page in operations():
        text = page.read_text(encoding="utf-8")
        assert not list(wrong_names(text, commands, settings, metrics)), page.name
    planted = "`ha.hok` `dueqctl cheque` `dueq_rolle{}` `ha.hook`"
    assert list(wrong_names(planted, commands, settings, metrics)) == [
        "dueqctl cheque", "ha.hok", "dueq_rolle"]


# ---- links ----

def anchors_of(path):
    """As GitHub makes them of headings."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"),
                                              flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")
            for heading in headings}


def broken_links(path):
    text = re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?:", target):
            continue
        name, _, anchor = target.partition("#")
        there = (path.parent / name).resolve() if name else path
        if not there.exists() or (anchor and anchor not in anchors_of(there)):
            yield target


def pages():
    return [*ROOT.glob("*.md"), *ROOT.glob("*/*.md"), *(ROOT / "doc").glob("*/*.md"),
            *ROOT.glob("itests/*/*.md")]


def test_links_of_all_pages_lead_somewhere():
    assert {RUNBOOK, ROOT / "README.md"} <= set(pages())
    broken = {str(page.relative_to(ROOT)): found for page in pages()
              if (found := list(broken_links(page)))}
    assert not broken


def test_links_of_installed_pages_lead_somewhere(tmp_path):
    install(tmp_path)
    documents = tmp_path / "usr/share/doc/dueq"
    installed = sorted(documents.rglob("*.md"))
    assert len(installed) > 20
    broken = {str(page.relative_to(documents)): found for page in installed
              if (found := list(broken_links(page)))}
    assert not broken
    alerts = (documents / "operations/alerts.md").read_text(encoding="utf-8")
    assert "](../../../dueq/prometheus/alerts.yml)" in alerts, "what is installed elsewhere"
    assert "](../dueq.yaml)" in (documents / "operations/upgrade.md").read_text(encoding="utf-8")
    assert "](plots/latency.svg)" in (documents / "benchmarks.md").read_text(encoding="utf-8")


def test_a_link_to_nowhere_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Is here\n[a](#is-here) [b](#is-not) [c](no.md)\n")
    assert list(broken_links(page)) == ["#is-not", "no.md"]
