#!/usr/bin/env python3
"""Plants violations into a small house and sees each of them found, at its line."""
import contextlib
import io
import pathlib
import tempfile
import unittest

import check_layers


def check(files, *options):
    """Exit status and output of the check for a house of these files."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            place = pathlib.Path(root, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            status = check_layers.main(["--root", root, *options])
        return status, output.getvalue()


class Layers(unittest.TestCase):
    def assert_found(self, path, text, *options):
        status, output = check({path: text}, *options)
        self.assertEqual(status, 1, output)
        self.assertIn(f"{path}:{text.count(chr(10))}: ", output)

    def assert_clean(self, path, text):
        status, output = check({path: text}, "--no-compile")
        self.assertEqual(status, 0, output)

    def test_includes_that_go_up_are_found(self):
        for path, target in [("base/list.c", "conf/conf.h"), ("ha/rule/role.c", "node/queue/queue.h"),
                             ("conf/load.c", "node/store/op.h"), ("ha/rule/role.c", "conf/conf.h"),
                             ("node/store/op.c", "node/queue/queue.h"),
                             ("node/queue/scanner.c", "node/store/redis/store.h"),
                             ("node/queue/scanner.c", "ha/rule/role.h"),
                             ("protocol/gmq/codec.c", "node/store/store.h"),
                             ("protocol/gmq/codec.c", "protocol/http/http.h"),
                             ("protocol/new/new.c", "protocol/http/server.h"),
                             ("protocol/conn/listener.c", "protocol/gmq/gmq.h"),
                             ("protocol/gmq/tests/codec_test.c", "conf/conf.h"),
                             ("ha/rule/role.c", "node/worker.h")]:
            with self.subTest(path=path, target=target):
                self.assert_found(path, f'/* x */\n  #  include "{target}"\n', "--no-compile")

    def test_foreign_headers_are_found_outside_their_files(self):
        for path, target in [("node/queue/queue.c", "hiredis/hiredis.h"),
                             ("node/store/redis/store.c", "event2/event.h"),
                             ("conf/table.c", "yaml.h"), ("node/worker.c", "zookeeper/zookeeper.h"),
                             ("base/buf.c", "cmocka.h"), ("node/store/op.c", "jansson.h")]:
            with self.subTest(path=path, target=target):
                self.assert_found(path, f"\n#include <{target}>\n", "--no-compile")

    def test_includes_that_go_down_are_fine(self):
        for path, target in [("node/worker.c", "ha/rule/role.h"), ("node/queue/scanner.c", "base/list.h"),
                             ("node/queue/scanner.c", "node/queue/scanner.h"),
                             ("node/queue/tests/waiters_test.c", "node/store/memory/store.h"),
                             ("protocol/gmq/gmq.c", "protocol/conn/listener.h"),
                             ("protocol/gmq/gmq.c", "node/queue/queue.h"),
                             ("protocol/new/new.c", "protocol/http/exchange.h"),
                             ("node/store/redis/store.c", "scripts.h")]:
            with self.subTest(path=path, target=target):
                self.assert_clean(path, f'#include "{target}"\n')

    def test_a_header_that_leans_on_others_is_found(self):
        status, output = check({"base/lean.h": "int64_t lean(void);\n"})
        self.assertEqual(status, 1)
        self.assertIn("base/lean.h:1: does not compile alone", output)

    def test_a_header_without_a_guard_is_found(self):
        status, output = check({"base/open.h": "struct open { int x; };\n"})
        self.assertEqual(status, 1)
        self.assertIn("base/open.h:1: does not compile alone", output)


if __name__ == "__main__":
    unittest.main()
