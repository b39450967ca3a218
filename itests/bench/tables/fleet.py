"""What very many topics cost several nodes, and what one topic carries at most."""

import time

from bench.farm import Farm
from bench.site import topic_name
from bench.tables import scale
from bench.tables.scale import add_phases, fill_seconds, flat
from bench.tables.table import attempt, medians, ratio, table

REST_PERCENT_AT_MOST = 0.5  # of a processor


@table("100,000 topics with a job in each, several nodes", plan=(0, 0, 130),
       settings={"queue.audit_rate": 0}, place=Farm)
def idle_topics(bench, options, result):
    topics = options.pick(100_000, quick=300)
    keys = options.pick(scale.COLUMNS_OF_TOPICS, quick=((1, 1),))
    sites = {masters: bench.site(f"topics{masters}", scale.MODE, masters)
             for masters in dict.fromkeys(masters for masters, _ in keys)}
    bench.progress.expect(len(keys))
    cells = {key: attempt(result, scale.column(*key), lambda key=key: _with_topics(
        sites[key[0]], key[1], topics, options)) or {} for key in keys}
    result.columns = [scale.column(*key) for key in keys]

    def row(name, times=1.0):
        return [ratio(cells[key].get(name), 1, times) for key in keys]

    for when, label in (("none", "no topic"), ("idle", f"{topics:,} topics, nothing due")):
        result.add(f"{label}: processor of a node", row(f"{when}.node_us_s", 1e-4), "% of one")
        result.add(f"{label}: processor of Redis", row(f"{when}.redis_us_s", 1e-4), "% of one")
        result.add(f"{label}: scripts, all nodes", row(f"{when}.scripts_s"), "/s")
        result.add(f"{label}: memory of a node", row(f"{when}.rss", 1e-6), "MB")
    result.add("what the topics add: processor of a node", row("added_us_s", 1e-4), "% of one",
               at_most=REST_PERCENT_AT_MOST, column=None)
    add_phases(result, cells, keys)
    result.notes.append("without the reconciler (queue.audit_rate 0), which looks at so many jobs "
                        "a second, however many there are")
    result.notes.append("memory is the worker's, resident, after the pushes went through it: "
                        "requests that were under way at once are in it, too")
    result.series = {"topics": topics, "cells": [
        {"masters": key[0], "nodes": key[1], **cells[key]} for key in keys]}


def _with_topics(site, count, topics, options):
    seconds = options.pick(6, quick=1, long=20)
    with site.running(count):
        rest = {"none": at_rest(site, seconds)}
        used = {"push": site.push(topics // count * count, topics, topic_name(0))}
        site.wait_at_rest()
        rest["idle"] = at_rest(site, seconds)
        used["due"] = site.fall_due(topics, topics, fill_seconds(topics, topics))
        used["hand"] = site.hand_over(topics, topics)
    figures = {f"{when}.{name}": value for when, each in rest.items()
               for name, value in each.items()}
    figures["added_us_s"] = max(0, rest["idle"]["node_us_s"] - rest["none"]["node_us_s"])
    return {**figures, **flat(used)}


def at_rest(site, seconds):
    """Of a node, and of the store, each second."""
    with site.loads.progress.step(f"{site.name}: at rest, {len(site.nodes)} nodes", seconds):
        look = site.look()
        time.sleep(seconds)  # the length of the measurement: nothing is waited for
        used = look.used()
    return {"node_us_s": sum(used.node_us) / len(used.node_us) / used.seconds,
            "redis_us_s": sum(used.redis_us) / used.seconds,
            "scripts_s": used.scripts / used.seconds,
            "rss": sum(site.rss_bytes()) / len(site.nodes)}


@table("one topic for everybody, several nodes over one Redis", plan=(0, 0, 60), place=Farm)
def hot(bench, options, result):
    counts = options.pick((1, 3), quick=(1, 2))
    jobs = options.pick(36_000, quick=1200)
    site = bench.site("hot", scale.MODE)
    keys = [(count,) for count in counts]
    cells = medians(bench, options, result, {
        key: lambda key=key: scale.life(site, *key, jobs, 1) for key in keys})
    result.columns = [f"{count} node{'s' * (count > 1)}" for count in counts]
    add_phases(result, cells, keys)
    result.notes.append("one topic is in one bucket, and so at one Redis: that one's processor is "
                        "what it carries, however many nodes and masters there are")
    result.series = {"cells": [{"nodes": count, **cells[count,]} for count in counts]}
