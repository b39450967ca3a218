"""The examples of a page of doc/, run from top to bottom at one node: each answers what the page
says.

    $ curl "$H/push" -d '{"topic": "orders", ...}'
    {"code":0,"message":"..."}

- A reply with a status of 300 or more has it in its first line, alone: `HTTP 404`.
- Numbers of ten digits or more and ULIDs differ from run to run: one that a reply shows stands
  in later commands for what the node has given in its place.
- So do, in shape only, the members that a test calls varying, and what its patterns find in
  texts. `...` in an object stands for some more members.
- JSON is compared as values, all else as text.
"""

import json
import os
import pathlib
import re
import subprocess

DOC = pathlib.Path(__file__).parents[2] / "doc"
COMMAND = re.compile(r"^    \$ (curl .*)\n((?:    (?!\$ ).*\n)*)", re.MULTILINE)
STATUS = re.compile(r"HTTP (\d{3})(?:\n|$)")
GIVEN = re.compile(r"\d{10,}(?:-[0-9a-f]{16})?|\b[0-9A-HJKMNP-TV-Z]{26}\b")


class Page:
    """`env`: what the commands call the node by, such as {"H": "http://127.0.0.1:8000"}."""

    def __init__(self, name, env, varying=(), patterns=()):
        self.text = (DOC / name).read_text(encoding="utf-8")
        self.env = env
        self.varying = set(varying)
        self.patterns = [GIVEN, *map(re.compile, patterns)]
        self.given = {}  # by what the page shows

    def examples(self):
        """(command, status, reply)"""
        for command, shown in COMMAND.findall(self.text):
            shown = "\n".join(line[4:] for line in shown.splitlines()).strip()
            status = STATUS.match(shown)
            yield command, status and int(status[1]), shown[status.end() if status else 0:].strip()

    def check(self, has_statuses=True):
        """Returns how many examples there were."""
        count = 0
        for command, status, shown in self.examples():
            for text, given in self.given.items():
                command = command.replace(text, given)
            code, reply = self.run(command)
            said = f"{command}\nHTTP {code}\n{reply}\nbut the page says:\n{shown}"
            assert not has_statuses or (code == status if status else code < 300), said
            assert self.is_same(value_of(reply), value_of(shown)), said
            self.learn(reply, shown)
            count += 1
        return count

    def run(self, command):
        """(status, body)"""
        shell = subprocess.run(
            ["sh", "-c", command.replace("curl", r"curl -sS -w '\n%{http_code}'", 1)], text=True,
            capture_output=True, env={**os.environ, **self.env}, check=True, timeout=60)
        body, _, status = shell.stdout.rpartition("\n")
        return int(status), body.strip()

    def is_same(self, given, shown, name=None):
        if isinstance(shown, dict) and isinstance(given, dict):
            if "..." in shown:
                given = {"...": 0, **{name: given[name] for name in given if name in shown}}
            return given.keys() == shown.keys() and all(
                self.is_same(given[name], shown[name], name) for name in shown)
        if isinstance(shown, list) and isinstance(given, list):
            return len(given) == len(shown) and all(map(self.is_same, given, shown))
        if name in self.varying:
            return type(given) is type(shown)
        if isinstance(shown, (str, int, float)) and type(given) is type(shown):
            return self.in_general(given) == self.in_general(shown)
        return given == shown

    def in_general(self, value):
        text = str(value)
        for pattern in self.patterns:
            text = pattern.sub("*", text)
        return text

    def learn(self, reply, shown):
        found = GIVEN.findall(shown), GIVEN.findall(reply)
        if len(found[0]) == len(found[1]):
            for text, given in zip(*found):
                self.given.setdefault(text, given)


def value_of(text):
    """JSON as a value; topics come in no order. Anything else as it is."""
    try:
        value = json.loads(text.replace("...", '"...":0')) if text else None
    except ValueError:
        return text
    if isinstance(value, dict) and isinstance(value.get("topics"), list) and "next" in value:
        value["topics"].sort(key=lambda topic: topic["topic"])
    return value
