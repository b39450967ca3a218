#!/usr/bin/env python3
"""Do the API's table of paths, its description and the page name the same roles?

protocol/api/app.c has each path with its operation and the roles that it is for; openapi.yaml
has them as operationId and x-roles, and doc/security.md in a row for each role. What has no role
is for everybody, and is listed here, so that no path is forgotten.

The page's rows of dialects, a row for each folder with its paths by role, are held against the
tables of protocol/FOLDER/. A path whose methods have different roles stands there with each of
them: `PUT /path`.
"""
import argparse
import pathlib
import re
import sys

FOR_EVERYBODY = {"/", "/v1", "/v1/", "/v1/openapi.yaml", "/health/live", "/health/ready",
                 "/health/leader", "/health/standby"}

ROUTE = re.compile(r'^    \{"([A-Z]+)", BYTES\("([^"]+)"\)(.*?)(?=^    \{"|^\};)',
                   re.MULTILINE | re.DOTALL)
ROLES = re.compile(r'\.operation = "(\w+)", \.roles = ([A-Z_ |]+)')
ANY_ROUTE = re.compile(r'^    \{("[A-Z]+"|NULL), BYTES\("([^"]+)"\)(.*?)(?=^    \{|^\};)',
                       re.MULTILINE | re.DOTALL)
ANY_ROLES = re.compile(r"\.roles = ([A-Z_ |]+)")
DIALECT_ROW = re.compile(r"^\| \[`(\w+)`\]\([^)]+\) \|(.*)\|$", re.MULTILINE)
DIALECT_COLUMNS = ("produce", "consume", "inspect", "operate", "admin", "everybody")
PAGE_ROW = re.compile(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", re.MULTILINE)


def table(root):
    """{(method, path): (operation, roles)}"""
    found = {}
    for method, path, rest in ROUTE.findall((root / "protocol/api/app.c").read_text("utf-8")):
        roles = ROLES.search(rest)
        if roles:
            found[method, path.replace("{topics}", "{topic}")] = (
                roles[1], {word.strip().removeprefix("ACCESS_").lower()
                           for word in roles[2].split("|")})
        elif path not in FOR_EVERYBODY:
            yield f"protocol/api/app.c: {method} {path} names no role"
    if not found:
        yield "protocol/api/app.c: no operation with roles was found"
    return found


def description(root):
    found, path, method, name = {}, "", "", ""
    for line in (root / "protocol/api/openapi.yaml").read_text("utf-8").splitlines():
        if match := re.match(r"  (/\S*):$", line):
            path = match[1].replace("{topics}", "{topic}")
        elif match := re.match(r"    (get|post|delete|patch|put):$", line):
            method = match[1].upper()
        elif match := re.match(r"      operationId: (\w+)$", line):
            name = match[1]
        elif match := re.match(r"      x-roles: \[([a-z, ]+)\]$", line):
            found[method, path] = (name, set(match[1].split(", ")))
    return found


def page(root):
    """{operation: roles}"""
    found = {}
    for role, operations in PAGE_ROW.findall((root / "doc/security.md").read_text("utf-8")):
        for name in re.findall(r"`(\w+)`", operations):
            found.setdefault(name, set()).add(role)
    return found


def dialect_table(folder):
    """{path: {method: roles}}"""
    found = {}
    for source in sorted(folder.glob("*.c")):
        for method, path, rest in ANY_ROUTE.findall(source.read_text("utf-8")):
            roles = ANY_ROLES.search(rest)
            found.setdefault(path, {})[method.strip('"')] = {
                word.strip().removeprefix("ACCESS_").lower()
                for word in (roles[1].split("|") if roles else ["no role"])}
    return found


def as_on_the_page(methods_of):
    """{path, or "METHOD path": roles}"""
    shown = {}
    for path, methods in methods_of.items():
        if all(roles == next(iter(methods.values())) for roles in methods.values()):
            shown[path] = next(iter(methods.values()))
        else:
            shown.update({f"{method} {path}": roles for method, roles in methods.items()})
    return shown


def dialect_differences(root):
    for folder, cells in DIALECT_ROW.findall((root / "doc/security.md").read_text("utf-8")):
        found = {}
        for role, cell in zip(DIALECT_COLUMNS, cells.split("|")):
            for path in re.findall(r"`([^`]+)`", cell):
                found.setdefault(path, set()).add(role)
        expected = as_on_the_page(dialect_table(root / "protocol" / folder))
        for path in sorted(expected.keys() | found.keys()):
            if expected.get(path) != found.get(path):
                yield (f"doc/security.md: {folder}: {path} has {found.get(path, 'nothing')}, "
                       f"in protocol/{folder} {expected.get(path, 'nothing')}")


def differences(where, expected, found):
    for key in sorted(expected.keys() | found.keys(), key=str):
        if expected.get(key) != found.get(key):
            yield (f"{where}: {key} has {found.get(key, 'nothing')}, "
                   f"in app.c {expected.get(key, 'nothing')}")


def complaints(root):
    expected = yield from table(root)
    yield from differences("openapi.yaml", expected, description(root))
    yield from differences("doc/security.md", dict(expected.values()), page(root))
    yield from dialect_differences(root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    found = list(complaints(parser.parse_args().root.resolve()))
    print("\n".join(found) or "the roles are the same everywhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
