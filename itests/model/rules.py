"""The rules that the nodes' configuration has for topics, and what they come to: of each setting
the first row counts that names the topic and sets it."""

import json

from harness.topic_settings import BUILT_IN

ROWS = [
    ("hard.*", {"ttr_ms": 80, "max_tries": 2,
                "backoff": {"kind": "fixed", "base_ms": 30, "cap_ms": 0, "jitter_percent": 0}}),
    ("soft.*", {"ttl_ms": 400, "priority": 5, "history": True}),
    ("hard*", {"ttr_ms": 1, "priority": 3000, "dead_max": 3}),  # its ttr never counts
    ("*", {"ttr_ms": 50000}),
]


def configured(topic):
    """What holds for it where nothing is set at run time."""
    found = dict(BUILT_IN)
    for name, row in reversed(ROWS):
        if topic == name or name.endswith("*") and topic.startswith(name[:-1]):
            found.update(row)
    return found


def as_yaml(rows):
    """The file. JSON is YAML, as far as this goes."""
    return "topics:\n" + "".join(f"  - {_row(name, row)}\n" for name, row in rows)


def _row(name, row):
    words = [f"name: {json.dumps(name)}"]
    for setting, value in row.items():
        if setting == "backoff":
            words.append(f"backoff: {{kind: {value['kind']}, base: {value['base_ms']}ms}}")
        elif setting.endswith("_ms"):
            words.append(f"{setting[:-3]}: {value}ms")
        else:
            words.append(f"{setting}: {json.dumps(value)}")
    return "{" + ", ".join(words) + "}"
