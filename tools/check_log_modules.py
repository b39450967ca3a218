#!/usr/bin/env python3
"""Do all log lines have a name from the list in base/log.c, and does every name there log?

A name that is not in the list could not be given a level of its own with log.modules; one that
nobody uses would be a promise without a keeper. Each port logs by its word: those of
conf/conf.h, and the dialects of HTTP (APP("word")).
"""
import argparse
import pathlib
import re
import sys

FOLDERS = ["base", "conf", "ha", "node", "protocol"]
CALL = re.compile(r'\bLOG_(?:(?:DEBUG|INFO|WARN|ERROR)\(|AT\([^"]*?,)\s*"([^"]*)"')
PORT = re.compile(r'^ +X\(\w+, "(\w+)"', re.MULTILINE)
APP = re.compile(r'= APP\("(\w+)"\)')
LIST = re.compile(r"const char \*const log_modules\[\] = \{(.*?)NULL,", re.DOTALL)


def listed(root):
    text = (root / "base" / "log.c").read_text(encoding="utf-8")
    return re.findall(r'"([^"]+)",', LIST.search(text).group(1))


def used(root):
    """(name, where) of every port, and of every call outside of tests."""
    text = (root / "conf" / "conf.h").read_text(encoding="utf-8")
    yield from ((port.group(1), "conf/conf.h") for port in PORT.finditer(text))
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.c")):
            if path.parent.name == "tests":
                continue
            text = path.read_text(encoding="utf-8")
            for call in (*CALL.finditer(text), *APP.finditer(text)):
                line = text.count("\n", 0, call.start()) + 1
                yield call.group(1), f"{path.relative_to(root)}:{line}"


def complaints(root):
    names, calls = listed(root), list(used(root))
    if names != sorted(set(names)):
        yield "base/log.c: log_modules is not in order, or has a name twice"
    yield from (f"{where}: '{name}' is not in log_modules (base/log.c)"
                for name, where in calls if name not in names)
    unused = set(names) - {name for name, _ in calls}
    yield from (f"base/log.c: nobody logs as '{name}'" for name in sorted(unused))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    found = list(complaints(parser.parse_args().root.resolve()))
    print("\n".join(found) or "all log lines have a name from the list, and every name is used")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
