#!/usr/bin/env python3
"""Comments that name what is not there. Fails with file:line for each

  file      a comment speaks of `name.c`, `.h`, `.lua`: there is one (of that path, or anywhere)
  index     a file's first comment names no file twice as the head of a line
  heading   no `---- name.c ----` stands twice in a file, and none is empty
  function  `name()` is a function, a macro or a member somewhere in the C or Lua code

What is another's (redis.c of hiredis, read() of the kernel) stands in OTHERS.
"""
import pathlib
import re
import subprocess
import sys

OTHERS = {"async.c", "zoo.cfg", "redis.c", "anet.c"}
COMMENT = {"lua": re.compile(r"--[^\n]*"), "c": re.compile(r"/\*.*?\*/", re.DOTALL)}
FILE = re.compile(r"(?<![\w/.*-])((?:[\w-]+/)*[a-z][\w-]*\.(?:c|h|lua))\b(?![\w(])")
CALL = re.compile(r"\b([a-z_]\w*)\(\)")
INDEX_LINE = re.compile(r"^ \* {1,3}([a-z]\w*\.[ch])\b", re.MULTILINE)
HEADING = re.compile(r"/\* -+ (.+?) -+ \*/")


def tracked(*patterns):
    names = subprocess.run(["git", "ls-files", *patterns], check=True, capture_output=True,
                           text=True).stdout
    return names.split()


def comments_of(path, text):
    """(line, text) of each."""
    for found in _comment_in(path).finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[0]


def _comment_in(path):
    return COMMENT["lua" if path.endswith(".lua") else "c"]


class Names:
    def __init__(self, texts):
        self.paths = set(texts) | set(tracked("*.lua", "*.c", "*.h"))
        self.files = {pathlib.PurePath(path).name for path in self.paths}
        code = "\n".join(_comment_in(path).sub("", text) for path, text in texts.items())
        self.words = set(re.findall(r"\b[A-Za-z_]\w*", code))

    def has_file(self, name, beside):
        if "/" not in name:
            return name in self.files or name in OTHERS
        return any(path == name or path.endswith("/" + name)
                   for path in self.paths) or str(beside.parent / name) in self.paths


def findings(path, text, names):
    beside = pathlib.PurePath(path)
    for line, comment in comments_of(path, text):
        for name in FILE.findall(comment):
            if not names.has_file(name, beside):
                yield line, f"there is no {name}"
        for name in CALL.findall(comment):
            if name not in names.words and not name.startswith(("sys_", "zoo_")):
                yield line, f"there is no {name}()"
    first = next(comments_of(path, text), (1, ""))[1] if path.endswith(".h") else ""
    heads = INDEX_LINE.findall(first)
    for name in sorted({name for name in heads if heads.count(name) > 1}):
        yield 1, f"the index names {name} twice"
    headings = HEADING.findall(text)
    for name in sorted({name for name in headings if headings.count(name) > 1}):
        yield 1, f"two headings: {name}"
    for empty in re.finditer(r"/\* -+ (.+?) -+ \*/\s*(?=/\* -+|#endif|\Z)", text):
        yield text.count("\n", 0, empty.start()) + 1, f"nothing is under the heading: {empty[1]}"


def main():
    paths = [path for path in tracked("*.c", "*.h", "*.lua") if pathlib.Path(path).is_file()]
    texts = {path: pathlib.Path(path).read_text(encoding="utf-8") for path in paths}
    names = Names(texts)
    wrong = [f"{path}:{line}: {what}" for path, text in texts.items()
             for line, what in findings(path, text, names)]
    print("\n".join(wrong) if wrong else f"{len(paths)} files name what is there")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
