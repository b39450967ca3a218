"""The examples of doc/http.md, run from top to bottom on one node, answer what the page says.

Of numbers that differ from run to run only that they are numbers, and the first lease of the page
is the one that its pop has given. `...` in an object of the page stands for some more members.
"""
import json
import os
import pathlib
import re
import subprocess

PAGE = pathlib.Path(__file__).parents[3] / "doc" / "http.md"
COMMAND = re.compile(r"^    \$ (curl .*)\n((?:    [^$ ].*\n)*)", re.MULTILINE)
VARYING = re.compile(r'(?<=_ms":)\d{13}|(?<="next":)\d+|(?<=_age_ms":)\d+|(?<=_in_ms":)\d+'
                     r'|(?<="holder":")[^"]*|(?<=")\d{10,}(?:-[0-9a-f]{16})?(?=")')
LEASE = re.compile(r'"lease":"(\d+(?:-[0-9a-f]{16})?)"')


def examples():
    return [(command, text.replace("    ", "", 1).strip())
            for command, text in COMMAND.findall(PAGE.read_text(encoding="utf-8"))]


def run(command, url):
    shell = subprocess.run(["sh", "-c", command.replace("curl", "curl -sS", 1)], text=True,
                           capture_output=True, env={**os.environ, "H": url}, check=True)
    return shell.stdout.strip()


def in_general(text):
    """Without what differs from run to run. Topics come in no order."""
    general = json.loads(VARYING.sub("0", text).replace("...", '"...":0')) if text else None
    if general and "topics" in general:
        general["topics"].sort(key=lambda topic: topic["topic"])
    return general


def answers(given, shown):
    if isinstance(shown, dict) and "..." in shown:
        given = {"...": 0, **{name: given[name] for name in given if name in shown}}
    if isinstance(shown, dict):
        return (isinstance(given, dict) and given.keys() == shown.keys()
                and all(answers(given[name], shown[name]) for name in shown))
    return given == shown


def test_every_example_answers_what_the_page_says(node):
    url = f"http://127.0.0.1:{node.http_port}"
    shown_lease = given_lease = None
    assert len(examples()) > 10
    for command, shown in examples():
        if given_lease:
            command = command.replace(shown_lease, given_lease)
        given = run(command, url)
        assert answers(in_general(given), in_general(shown)), f"{command}\n{given}"
        if LEASE.search(given) and not given_lease:
            shown_lease, given_lease = LEASE.search(shown)[1], LEASE.search(given)[1]
