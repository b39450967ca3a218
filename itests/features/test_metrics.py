"""The metrics page: its form as Prometheus' own parser reads it, its documents, its numbers."""

import re
import subprocess
from collections import Counter

from prometheus_client.parser import text_string_to_metric_families

from harness.build import ROOT, node_program
from harness.http_api import new_job
from harness.wait import wait_until

STATES = ("delayed", "ready", "reserved", "dead")
LONG_PAST_MS = 100_000_000_000  # the smallest that does not look like seconds
HOUR_MS = 3600 * 1000


class Page:
    """`families`: name to type; `samples`: (name, labels as a frozenset of pairs) to value."""

    def __init__(self, text):
        self.families = dict(re.findall(r"^# TYPE (\S+) (\S+)$", text, re.M))
        self.helps = re.findall(r"^# HELP (\S+) .*\S$", text, re.M)
        self.types = re.findall(r"^# TYPE (\S+) \S+$", text, re.M)
        self.parsed = list(text_string_to_metric_families(text))
        self.samples = {(sample.name, frozenset(sample.labels.items())): sample.value
                        for family in self.parsed for sample in family.samples}

    def value(self, name, **labels):
        return self.samples[name, frozenset(labels.items())]

    def named(self, name):
        """[(labels, value)]"""
        return [(dict(labels), value) for (sample, labels), value in self.samples.items()
                if sample == name]

    def jobs(self, topic):
        """Numbers of jobs in the order of STATES."""
        return [self.value("dueq_jobs", topic=topic, state=state) for state in STATES]

    def topics(self):
        return {labels["topic"] for labels, _ in self.named("dueq_jobs")}


def scrape(node):
    status, text = node.http("/metrics")
    assert status == 200, text
    return Page(text)


# ---- form ----


def test_every_family_is_announced_once_and_no_sample_comes_twice(node):
    status, text = node.http("/metrics")
    page, lines = Page(text), [line.rpartition(" ")[0] for line in text.splitlines() if line[0] != "#"]
    assert status == 200
    assert not [line for line, count in Counter(lines).items() if count > 1]
    assert page.types == page.helps, "each HELP is followed by its TYPE"
    assert not [name for name, count in Counter(page.types).items() if count > 1]
    read = {family.name + ("_total" if family.type == "counter" else "")
            for family in page.parsed}
    assert read == set(page.types)
    for family in page.parsed:
        assert family.type in ("counter", "gauge", "histogram"), family
        assert family.documentation.endswith(".") or family.documentation.endswith(")."), family


def test_names_say_unit_and_kind(node):
    for name, kind in scrape(node).families.items():
        assert re.fullmatch(r"(dueq|process)_[a-z]+(_[a-z]+)*", name), name
        assert name.endswith("_total") == (kind == "counter"), name
        assert not re.search(r"_(ms|us|millis|micros|kb|mb|count|sum|bucket)(_|$)", name), name
        if re.search(r"lateness|age$|stall_max|round_trip$", name) or kind == "histogram":
            assert name.endswith("_seconds"), name


def documented():
    """{name: (type, names of labels)} of the tables in doc/metrics.md"""
    text = (ROOT / "doc/metrics.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)(?:\{([\w,]+)\})?` \| (\w+) \|", text, re.M)
    assert len({name for name, *_ in rows}) == len(rows), "a family is documented twice"
    return {name: (kind, set(filter(None, labels.split(",")))) for name, labels, kind in rows}


def test_page_and_document_have_the_same_families(make_node):
    node = make_node().start()
    with node.php_client() as client:
        client.push("documented", "d-1", delay=100)
        with node.raw_client() as raw:
            assert "error" in raw.ask({"method": "Service.Push", "id": 1,
                                       "params": [{"id": "d-1", "topic": "documented"}]})
    page = scrape(node)
    assert {name: kind for name, (kind, _) in documented().items()} == page.families
    for name, (kind, labels) in documented().items():
        if (name in ("dueq_last_failover_seconds", "dueq_identities_age_seconds") or
                name.startswith("dueq_vip_")):
            continue  # a node that is alone, and asks Redis for no identities, has none
        assert page.named(name if kind != "histogram" else name + "_count"), f"{name}: no sample"
        for found, _ in page.named(name):
            assert set(found) == labels, name


# ---- numbers ----


def test_the_numbers_are_those_of_what_was_done(make_node):
    node = make_node().start()
    with node.api() as api:
        api.push("orders", at_ms=LONG_PAST_MS)
        for number in range(9):
            api.push("orders", id=f"o-{number}")
        for number in range(3):
            api.push("orders", delay_ms=(number + 1) * HOUR_MS)
        api.push("mails", delay_ms=2 * HOUR_MS)
        jobs = api.pop("orders", count=4, ttr_ms=HOUR_MS)
        assert len(jobs) == 4
        api.ack(jobs[0])
        api.release(jobs[1])
        assert node.http("/v1/topics/orders/jobs/none")[0] == 404
        counts = {topic: api.counts(topic) for topic in ("orders", "mails")}
        page = scrape(node)

    assert page.jobs("orders") == [3, 7, 2, 0]
    assert page.jobs("mails") == [1, 0, 0, 0]
    assert page.jobs("*") == [0, 0, 0, 0]
    assert {topic: tuple(page.jobs(topic)) for topic in counts} == counts
    assert [page.value("dueq_jobs_by_state", state=state) for state in STATES] == [4, 7, 2, 0]
    assert page.value("dueq_topics") == page.value("dueq_topics_counted") == 2
    assert page.value("dueq_census_complete") == 1
    assert page.value("dueq_next_due_seconds") <= 3600
    assert page.value("dueq_next_due_seconds") > 3500

    def operations(verb, result="ok"):
        return page.value("dueq_operations_total", verb=verb, result=result)

    assert operations("push") == 14
    assert operations("ack") == 1
    assert operations("release") == 1
    assert operations("get", "refused") == 1
    assert page.value("dueq_operation_errors_total", verb="get", status="not_found") == 1
    assert page.value("dueq_http_errors_total", code="not_found") == 1
    assert page.value("dueq_jobs_popped_total") == 4
    assert page.value("dueq_jobs_expired_total") == 0


def test_a_job_whose_reservation_ran_out_is_last_in_line(make_node):
    node = make_node().start()
    with node.api() as api:
        due_ms = api.push("orders", at_ms=LONG_PAST_MS, ttr_ms=1)["due_ms"]
        assert due_ms == LONG_PAST_MS
        api.push("orders")
        assert api.pop_one("orders")["due_ms"] == LONG_PAST_MS
        wait_until(lambda: api.counts("orders") == (0, 2, 0, 0), "its time to run is over")
    page = scrape(node)
    assert page.value("dueq_first_ready_age_seconds") < 600
    assert page.value("dueq_jobs_expired_total") == 1


def test_both_latenesses_are_measured(node, client, topic):
    def counts():
        page = scrape(node)
        return [page.value(f"dueq_{kind}_lateness_seconds_count") for kind in ("move", "delivery")]

    before = counts()
    client.push(topic, f"{topic}-1", delay=1)
    assert client.pop_patiently(topic)
    wait_until(lambda: counts() == [number + 1 for number in before], "both are counted")
    assert scrape(node).value("dueq_store_round_trip_seconds_count") > 0


def test_deaths_are_counted_by_their_reason_and_what_is_pruned_is_too(node, api, topic):
    def deaths():
        page = scrape(node)
        return [page.value("dueq_jobs_died_total", reason=reason)
                for reason in ("tries", "expired", "buried")]

    def pruned():
        return scrape(node).value("dueq_jobs_pruned_total")

    before, pruned_before = deaths(), pruned()
    api.push(topic, max_tries=1)
    api.release(api.pop_one(topic))
    for _ in range(3):
        api.push(topic)
        api.bury(api.pop_one(topic))
    api.push(topic, delay_ms=3600000, ttl_ms=3600001)
    api.push_all(topic, [new_job(ttl_ms=1)] * 2)
    wait_until(lambda: deaths() == [before[0] + 1, before[1] + 2, before[2] + 3],
               "all who died are counted")
    assert api.counts(topic) == (1, 0, 0, 6)
    api.set_settings(topic, dead_max=2)
    wait_until(lambda: pruned() == pruned_before + 4, "the oldest dead are gone")
    assert api.counts(topic) == (1, 0, 0, 2)


# ---- many topics ----


def test_many_topics_are_shown_by_those_with_the_most_jobs_and_one_sum(make_node):
    node = make_node({"http.metrics_topics": 10}).start()
    sizes = {f"topic-{number:03}": 1 + (number >= 290) * (number - 285)
             for number in range(300)}
    with node.api() as api:
        for topic, size in sizes.items():
            api.push_all(topic, [{"body": "", "delay_ms": HOUR_MS}] * size)
    page = scrape(node)
    large = {topic for topic, size in sizes.items() if size > 1}
    assert page.topics() == large | {"*"} and len(large) == 10
    for topic in large:
        assert page.jobs(topic) == [sizes[topic], 0, 0, 0]
    assert page.jobs("*") == [290, 0, 0, 0]
    assert page.value("dueq_jobs_by_state", state="delayed") == sum(sizes.values())
    assert page.value("dueq_topics") == page.value("dueq_topics_counted") == 300
    assert page.value("dueq_census_complete") == 1
    assert len(page.named("dueq_topic_first_ready_age_seconds")) == 10


# ---- the node ----


def test_the_page_says_what_was_built(node):
    ((labels, value),) = scrape(node).named("dueq_build_info")
    version = subprocess.run([node_program(), "--version"], check=True, capture_output=True,
                             text=True).stdout.split()[-1]
    commit = labels["commit"]
    assert value == 1 and version == labels["version"] + (commit and f"+{commit}")
    assert re.fullmatch(r"([0-9a-f]{7,40})?", labels["commit"])
    assert re.fullmatch(r"(gcc|clang) \d.*", labels["compiler"])
