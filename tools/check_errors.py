#!/usr/bin/env python3
"""Do the table of errors, its page and the API's description say the same?

protocol/http/errors.h is the table; doc/errors.md has a row for every word in it, openapi.yaml
lists the words with their status.
"""
import argparse
import pathlib
import re
import sys

ROW = re.compile(r'^ +X\(\w+, +(\d+), +"(\w+)", +"', re.MULTILINE)
DOC_ROW = re.compile(r"^\| `(\w+)` \| (\d+) \| \S.* \| \S.* \|$", re.MULTILINE)
ENUM_ROW = re.compile(r"^ +- (\w+)$", re.MULTILINE)
STATUS_ROW = re.compile(r"^ +(\w+): (\d+)$", re.MULTILINE)


def table(root):
    """{word: status} of errors.h; the rows are in the order of their status."""
    rows = ROW.findall((root / "protocol/http/errors.h").read_text(encoding="utf-8"))
    if [status for status, _ in rows] != sorted(status for status, _ in rows):
        yield "protocol/http/errors.h: the rows are not in the order of their status"
    for status, word in set(rows):
        if sum(other == word for _, other in set(rows)) > 1:
            yield f"protocol/http/errors.h: {word} has two statuses"
    return {word: status for status, word in rows}


def page(root):
    rows = DOC_ROW.findall((root / "doc/errors.md").read_text(encoding="utf-8"))
    return dict(rows)


def description(root):
    """The enum, and the statuses beside it."""
    text = (root / "protocol/api/openapi.yaml").read_text(encoding="utf-8")
    schema = text[text.index("\n    ErrorCode:\n"):]
    enum, _, rest = schema.partition("\n      x-status:\n")
    statuses = re.match(r"(?:        \w+: \d+\n)+", rest).group()
    return set(ENUM_ROW.findall(enum)), dict(STATUS_ROW.findall(statuses))


def differences(where, expected, found):
    for word in sorted(expected.keys() | found.keys()):
        if expected.get(word) != found.get(word):
            yield (f"{where}: {word} is {found.get(word, 'not there')}, "
                   f"in errors.h {expected.get(word, 'not there')}")


def complaints(root):
    words = yield from table(root)
    enum, statuses = description(root)
    yield from differences("doc/errors.md", words, page(root))
    yield from differences("openapi.yaml, x-status", words, statuses)
    if enum != words.keys():
        yield f"openapi.yaml, ErrorCode: {sorted(enum ^ words.keys())}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    found = list(complaints(parser.parse_args().root.resolve()))
    print("\n".join(found) or "the errors are the same everywhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
