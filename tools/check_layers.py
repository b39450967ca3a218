#!/usr/bin/env python3
"""Who may include whom. Fails with file:line for every #include that breaks the table.

The house has floors, and includes go down only: a codec that cannot see Redis cannot come to
depend on it. Three checks, each a table below or none at all:

  layers     our own headers, by folder
  libraries  foreign headers, which few files may see
  alone      every header compiles by itself

`--root` and `--no-compile` are for the test beside this file.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

# What the protocols may know of the engine.
ENGINE = ["node/queue/queue.h", "node/store/op.h", "node/store/job.h", "node/store/counters.h"]

# What a dialect over HTTP knows of the server; server.h is the server's own.
HTTP = ["protocol/http/http.h", "protocol/http/exchange.h", "protocol/http/errors.h",
        "protocol/http/message.h", "protocol/http/jobs.h", "protocol/http/identities.h"]

# Ports, by those who let their clients go.
CLIENTS = ["protocol/conn/floating.h", "protocol/conn/port.h", "protocol/api/report.h"]

# folder: what its files may include beside their own folder. The nearest folder with a row
# counts. Patterns are whole paths; `*` stands for one component, `**` for any.
LAYERS = {
    "base": [],
    "conf": ["base/*.h"],
    "ha": ["base/*.h", "ha/*.h", "ha/rule/*.h", "ha/lead/*.h", "ha/coord/coordinator.h",
           "ha/peer/peers.h"],
    "ha/rule": ["base/*.h", "ha/ha.h", "ha/peer/peers.h", "ha/coord/coordinator.h"],
    "ha/coord": ["base/*.h", "ha/*.h", "ha/rule/*.h"],
    "ha/peer": ["base/*.h", "ha/*.h", "ha/rule/*.h", "ha/coord/coordinator.h"],
    "ha/vip": ["base/*.h"],
    "ha/fake": ["base/*.h", "ha/*.h", "ha/rule/*.h", "ha/lead/*.h", "ha/coord/coordinator.h",
                "ha/peer/peers.h"],
    "ha/sim": ["base/*.h", "ha/**"],
    "node/store": ["base/*.h"],
    "node/store/redis/wire": ["base/*.h", "node/store/*.h"],
    "node/store/redis/topology": ["node/store/redis/wire/*.h", "base/*.h", "node/store/*.h"],
    "node/store/redis": ["node/store/redis/topology/*.h", "node/store/redis/wire/*.h", "base/*.h",
                         "node/store/*.h"],
    "node/store/memory": ["base/*.h", "node/store/*.h"],
    "node/store/contract": ["base/*.h", "node/store/**"],
    "node/queue": ["base/*.h", "node/store/store.h", "node/store/op.h", "node/store/job.h",
                   "node/store/packed.h", "node/store/share.h"],
    "protocol/json": ["base/*.h"],
    "protocol/access": ["protocol/json/*.h", "base/*.h", *ENGINE],
    "protocol/conn": ["base/*.h", "protocol/json/*.h", "protocol/access/*.h", *ENGINE],
    "protocol/api": ["protocol/http/*.h", "protocol/access/*.h", "protocol/conn/*.h",
                     "protocol/json/*.h", "base/*.h",
                     *ENGINE],
    "protocol/gmq": ["protocol/access/*.h", "protocol/conn/*.h", "protocol/json/*.h", "base/*.h", *ENGINE],
    "protocol/*": ["protocol/access/*.h", "protocol/conn/*.h", "protocol/json/*.h", "base/*.h", *HTTP,
                   *ENGINE],
    "node/ctl": ["base/*.h", "protocol/access/access.h", "protocol/access/identity.h",
                 "protocol/access/role.h"],
    "node/warden": ["base/*.h", "conf/conf.h", "ha/coord/*.h", "ha/rule/token.h", "ha/vip/*.h",
                    "protocol/access/audit.h", "node/*.h"],
    "node/vip": ["base/*.h", "conf/conf.h", "ha/rule/*.h", "ha/vip/*.h", "node/*.h", *CLIENTS],
    "node": ["**"],
    "itests": ["base/*.h", "node/store/*.h", "node/store/redis/**"],
}

# Tests and fuzzers may also use the fakes, and say who scans.
TEST_FILES = ["**/tests/*", "**/tests/fixtures/*", "node/store/contract/*", "itests/bench/load/*_test.c"]
TEST_MAY = ["base/tests/unit.h", "base/tests/certificates.h", "node/store/memory/store.h", "**/tests/fixtures/*.h", "node/store/redis/tests/server_fixture.h",
            "node/store/redis/tests/log_fixture.h", "node/store/store.h", "node/queue/shares.h", "protocol/conn/tests/client_fixture.h",
            "protocol/http/tests/*.h", "protocol/api/*.h",
            "conf/tests/conf_fixture.h", "node/tests/*_fixture.h", "ha/fake/*.h", "ha/sim/*.h", "ha/**/tests/*.h"]

# foreign header: the files that may include it.
LIBRARIES = {
    "hiredis/**": ["node/store/redis/**", "node/store/contract/redis/**", "itests/bench/**"],
    "event2/**": ["base/loop.c", "ha/peer/*", "base/resolve.c", "ha/coord/zk_io.c",
                  "ha/vip/packet.c", "protocol/**",
                  "node/store/redis/wire/conn.c", "node/worker.c", "node/program.c", "itests/bench/**", *TEST_FILES],
    "openssl/**": ["ha/peer/conn.c", "ha/peer/tls.c", "ha/peer/tests/peer_tls_test.c",
                   "protocol/access/access.c", "node/queue/lease_checks.c",
                   "base/tls_context.c", "base/tls_tickets.c", "protocol/conn/tls.c",
                   "protocol/conn/handshake.c", "protocol/conn/tls_session.h",
                   "node/store/redis/wire/tls.c", "node/store/redis/wire/tests/tls_test.c",
                   "protocol/conn/tests/*", "base/tests/certificates.c", "itests/bench/load/*"],
    "zookeeper/**": ["ha/coord/zk_*"],
    "yaml.h": ["conf/yaml*"],
    "jansson.h": ["protocol/**", "node/ctl/**"],
    "curl/**": ["node/ctl/client.c"],
    "sys/capability.h": ["node/capabilities.c", "node/tests/capabilities_test.c"],
    "libmnl/**": ["ha/vip/link.c", "ha/vip/tests/*"],
    "cmocka.h": TEST_FILES,
}

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
FOLDERS = sorted({folder.split("/")[0] for folder in LAYERS})


def matches(path, patterns):
    return any(re.fullmatch(translate(pattern), path) for pattern in patterns)


def translate(pattern):
    parts = re.split(r"(\*\*|\*)", pattern)
    return "".join({"**": ".*", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)


def layer_of(path):
    """The most specific row of LAYERS for a file, and the folder it matched."""
    folder = os.path.dirname(path)
    while folder:
        for pattern, may in LAYERS.items():
            if matches(folder, [pattern]):
                return folder, may
        folder = os.path.dirname(folder)
    raise KeyError(path)


def why_not(path, quote, target):
    """Why `path` may not include `target`, or None."""
    if quote == "<":
        for library, files in LIBRARIES.items():
            if matches(target, [library]) and not matches(path, files):
                return f"<{target}> may be seen by {', '.join(files)} only"
        return None
    if target.split("/")[0] not in FOLDERS:
        return None  # generated: its folder is its maker's business
    folder, may = layer_of(path)
    if matches(path, TEST_FILES):
        may = may + TEST_MAY
    if os.path.dirname(target) in (folder, os.path.dirname(path)) or matches(target, may):
        return None
    return f"{folder} may not know {target}"


def broken_includes(root, path):
    with open(root / path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            found = INCLUDE.match(line)
            reason = found and why_not(path, *found.groups())
            if reason:
                yield f"{path}:{number}: {reason}"


def compile_alone(root, path):
    """The compiler's complaints about a header that is included first."""
    command = ["cc", "-std=gnu11", "-D_GNU_SOURCE", '-DDUEQ_VERSION=""', "-fsyntax-only",
               "-x", "c", f"-I{root}", "-"]
    result = subprocess.run(command, input=f'#include "{path}"\n#include "{path}"\n', text=True,
                            capture_output=True, cwd=root, check=False)
    if result.returncode:
        yield f"{path}:1: does not compile alone\n{result.stderr.rstrip()}"


def sources(root):
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            yield path.relative_to(root).as_posix()


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=pathlib.Path(__file__).parents[1])
    parser.add_argument("--no-compile", action="store_true")
    args = parser.parse_args(arguments)
    root = args.root.resolve()
    files = list(sources(root))
    complaints = [text for path in files for text in broken_includes(root, path)]
    if not args.no_compile:
        headers = [path for path in files if path.endswith(".h")]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for texts in pool.map(lambda path: list(compile_alone(root, path)), headers):
                complaints += texts
    print("\n".join(complaints) or f"{len(files)} files keep to their layers")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
