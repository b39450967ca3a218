#!/usr/bin/env python3
"""How many things the house holds: it prints, people judge.

    tools/count.py             folders, files, lines, functions; what is suspicious
    tools/count.py --json      the same for programs

Lines are counted without blank ones. Product is C, Lua and headers that the programs are built
from; tests are all else in C: tests/, the simulation, the store in memory and its contract.
"""
import argparse
import collections
import json
import pathlib
import re
import statistics
import subprocess

ENTRIES_MAX = 40
FILE_MAX, FUNCTION_MAX = 600, 60
TESTS = re.compile(r"(^|/)tests/|^ha/(fake|sim)/|^node/store/(memory|contract)/|^itests/")
# A function's head begins in the first column, and its body is between braces in the first.
FUNCTION = re.compile(r"^(?!(?:struct|enum|union|typedef|static const struct)\b[^(]*$)[a-z_][^;{}=]*\)"
                      r"\n\{\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(\w+)\(")
INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def tracked(root):
    """Also what is new and not yet added: without it, uncommitted work looks smaller than it is."""
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=root, check=True, text=True,
                            capture_output=True).stdout
    return [path for path in listed.splitlines() if (root / path).is_file()]


def lines_of(text):
    return sum(1 for line in text.splitlines() if line.strip())


def functions_of(text):
    """(name, lines of its body)"""
    for found in FUNCTION.finditer(text):
        head = found.group(0)[:found.group(0).index("\n{")]
        name = NAME.search(head)
        if name:
            yield name.group(1), lines_of(found.group(1))


def kind_of(path):
    """product, tests, python or None."""
    suffix = pathlib.PurePath(path).suffix
    if suffix == ".py":
        return "python"
    if suffix not in (".c", ".h", ".lua"):
        return None
    return "tests" if TESTS.search(path) else "product"


class House:
    def __init__(self, root):
        paths = tracked(root)
        self.files = {path: (root / path).read_text(encoding="utf-8", errors="replace")
                      for path in paths if kind_of(path)}
        self.entries = collections.Counter(
            str(pathlib.PurePath(folder)) for folder in self._parents(paths))

    @staticmethod
    def _parents(paths):
        """The folder of each entry, folders being entries, too; not of what a fuzzer is fed."""
        seen = set()
        for path in paths:
            pure = pathlib.PurePath(path)
            while pure.parts and "corpus" not in pure.parent.parts:
                if pure in seen:
                    break
                seen.add(pure)
                yield pure.parent
                pure = pure.parent

    def of(self, kind):
        return {path: text for path, text in self.files.items() if kind_of(path) == kind}

    def totals(self):
        return {kind: {"files": len(files), "lines": sum(map(lines_of, files.values()))}
                for kind in ("product", "tests", "python") for files in [self.of(kind)]}

    def by_folder(self):
        folders = collections.defaultdict(lambda: [0, 0])
        for path, text in self.of("product").items():
            row = folders[str(pathlib.PurePath(path).parent)]
            row[0] += 1
            row[1] += lines_of(text)
        return {folder: {"files": files, "lines": lines}
                for folder, (files, lines) in sorted(folders.items())}

    def sizes(self):
        files = {path: lines_of(text) for path, text in self.of("product").items()}
        functions = {f"{path}: {name}": lines for path, text in self.of("product").items()
                     if path.endswith(".c") for name, lines in functions_of(text)}
        return files, functions

    def includers(self):
        found = collections.defaultdict(set)
        for path, text in self.files.items():
            for header in INCLUDE.findall(text):
                if header.rsplit(".", 1)[0] != path.rsplit(".", 1)[0]:
                    found[header].add(path)
        return found

    def circles(self):
        """Pairs of headers' modules that include each other, in different folders or not."""
        known = collections.defaultdict(set)
        for path, text in self.of("product").items():
            for header in INCLUDE.findall(text):
                if header in self.files:
                    known[path.rsplit(".", 1)[0]].add(header.rsplit(".", 1)[0])
        return sorted({tuple(sorted((a, b))) for a, to in known.items() for b in to
                       if a != b and a in known.get(b, ())})


def report(house):
    files, functions = house.sizes()
    includers = house.includers()
    product = house.of("product")
    return {
        "totals": house.totals(),
        "folders": house.by_folder(),
        "file": {"median": statistics.median(files.values()), "largest": max(files.values())},
        "function": {"median": statistics.median(functions.values()),
                     "largest": max(functions.values())},
        "crowded": {folder: count for folder, count in sorted(house.entries.items())
                    if count > ENTRIES_MAX},
        "large files": {path: lines for path, lines in sorted(files.items()) if lines > FILE_MAX},
        "long functions": {name: lines for name, lines in sorted(functions.items())
                           if lines > FUNCTION_MAX},
        "one function": sorted(path for path, text in product.items() if path.endswith(".c")
                               and len(list(functions_of(text))) == 1),
        "one includer": sorted(path for path in product if path.endswith(".h")
                               and len({each for each in includers[path]
                                        if kind_of(each) == "product"}) <= 1),
        "private, and shared": {path: len(includers[path]) for path in sorted(product)
                                if "private" in path and len(includers[path]) > 3},
        "circles": [" <-> ".join(pair) for pair in house.circles()],
    }


def tell(counted):
    print("| | files | lines |\n|---|---|---|")
    for kind, row in counted["totals"].items():
        print(f"| {kind} | {row['files']} | {row['lines']} |")
    print()
    for folder, row in counted["folders"].items():
        print(f"  {folder:32} {row['files']:4} files {row['lines']:6} lines")
    for what in ("file", "function"):
        print(f"\n{what}s of the product: median {counted[what]['median']:g} lines, "
              f"largest {counted[what]['largest']}", end="")
    print()
    for what in ("crowded", "large files", "long functions", "one function", "one includer",
                 "private, and shared", "circles"):
        rows = counted[what]
        print(f"\n{what}: {len(rows)}")
        for row in rows:
            print(f"  {row}" + (f": {rows[row]}" if isinstance(rows, dict) else ""))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.add_argument("--root", type=pathlib.Path,
                        default=pathlib.Path(__file__).resolve().parents[1])
    arguments = parser.parse_args()
    counted = report(House(arguments.root))
    if arguments.json:
        print(json.dumps(counted, indent=2))
    else:
        tell(counted)


if __name__ == "__main__":
    main()
