"""What is drawn by hypothesis. It draws small ones, and those that stand first, more often."""

from hypothesis import strategies as st

from harness.redis_cluster import bucket_of

topics = st.integers(0, 2)
which = st.integers(0, 11)   # of the topic's jobs
held = st.sampled_from([0, 0, 0, 0, 1, 1, 1, 2, 3, 5, 8, -1])  # of all leases, newest first
ids = st.sampled_from(["a", "b", "c", "d", "e", None])
short = st.integers(1, 120)
delays = st.one_of(st.just(0), short, st.just(3600000))
ttrs = st.one_of(st.sampled_from([0, 60000, 60000]), st.integers(20, 120))
backoffs = st.one_of(
    st.just({"kind": "none"}),
    st.builds(lambda kind, base, jitter: {"kind": kind, "base_ms": base, "jitter_percent": jitter},
              st.sampled_from(["fixed", "exponential"]), st.integers(10, 60),
              st.sampled_from([0, 0, 50])),
    st.just({"kind": "exponential", "base_ms": 40, "cap_ms": 60}))
RULES = {
    "ttr_ms": ttrs,
    "priority": st.sampled_from([0, 5, 1024, 2000, 4294967295]),
    "max_tries": st.integers(0, 2),
    "backoff": backoffs,
    "ttl_ms": st.one_of(st.sampled_from([0, 3600000]), st.integers(50, 300)),
}
new_jobs = st.fixed_dictionaries(
    {"id": ids},
    optional={**RULES, "mode": st.sampled_from(["reject", "replace", "ignore"]),
              "delay_ms": delays, "at": st.sampled_from([-1000, 0, 3, 60, 3600000]),
              "is_large": st.booleans()})
plain_jobs = st.fixed_dictionaries(
    {"id": ids}, optional={"ttr_ms": ttrs, "delay_ms": delays, "at": st.sampled_from([-1000, 3]),
                           "is_large": st.booleans()})
changes = st.fixed_dictionaries({}, optional={
    name: st.one_of(st.none(), values) for name, values in
    {**RULES, "dead_max": st.integers(0, 2), "dead_age_ms": st.sampled_from([0, 60, 3600000]),
     "history": st.booleans()}.items()}).filter(bool)
names = st.tuples(st.sampled_from(["m", "m", "hard."]), st.sampled_from(["m", "hard.", "soft."]))
orders = st.permutations(range(3))
numbers = st.integers(1, 3)
consumers = st.integers(0, 1)  # of gmq, at each node
nodes = st.integers(0, 5)


def topic_names(number, prefixes):
    """Two of one bucket, and one of another; the second and the third with these prefixes, for
    which the configuration may have rules."""
    first = f"m{number}"
    mates = [f"{prefixes[0]}{number}-{n}" for n in range(1000)]
    others = [f"{prefixes[1]}{number}-{n}" for n in range(1000)]
    second = next(name for name in mates if bucket_of(name) == bucket_of(first))
    return [first, second, next(name for name in others if bucket_of(name) != bucket_of(first))]
