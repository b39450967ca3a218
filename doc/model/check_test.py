#!/usr/bin/env python3
"""Sees the runner of the models call out what must not pass: each way in which a run can end."""
import pathlib
import re
import tempfile
import unittest

import check

MODEL = "byte n; active proctype p() { do :: n < 9 -> n++ :: else -> break od; %s }\n"


class Surprises(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        check.HERE = check.BUILD = pathlib.Path(place.name)

    def run_model(self, end, violates, memory_mb=1000):
        (check.HERE / "some.pml").write_text(MODEL % end, encoding="utf-8")
        check.MEMORY_MB = memory_mb
        return check.examine(check.Check("some", "some.pml", "", violates, ""), False)

    def test_no_surprise_where_the_assertion_holds(self):
        result = self.run_model("assert(n == 9)", check.HOLDS)
        self.assertEqual((result.found, result.surprise), (check.HOLDS, None))
        self.assertGreater(result.states, 9)

    def test_no_surprise_where_it_fails_as_it_must(self):
        result = self.run_model("assert(n != 9)", "(n!=9)")
        self.assertIn("(n!=9)", result.found)
        self.assertIsNone(result.surprise)

    def test_a_violation(self):
        self.assertIn("(n!=9)", self.run_model("assert(n != 9)", check.HOLDS).surprise)

    def test_none_where_there_must_be_one(self):
        self.assertIn("not found", self.run_model("assert(n == 9)", "(n!=9)").surprise)

    def test_another_one(self):
        self.assertIn("another", self.run_model("assert(n == 8)", "(n!=9)").surprise)

    def test_a_model_in_which_time_stands_still(self):
        self.assertIn("end state", self.run_model("n == 8", check.HOLDS).surprise)

    def test_a_search_cut_short(self):
        check.DEPTH, depth = 5, check.DEPTH
        self.addCleanup(setattr, check, "DEPTH", depth)
        self.assertIn("cut short", self.run_model("assert(n == 9)", check.HOLDS).surprise)

    def test_a_search_without_memory(self):
        self.assertIn("cut short", self.run_model("assert(n == 9)", check.HOLDS, 1).surprise)

    def test_a_model_that_is_no_promela(self):
        self.assertIn("refuses", self.run_model("assert(", check.HOLDS).surprise)


class MistakesInTheCode(unittest.TestCase):
    """README.md says of each variant that must be violated which test finds it in the code."""

    def setUp(self):
        here = pathlib.Path(__file__).resolve().parent
        self.root = here.parent.parent
        text = (here / "README.md").read_text(encoding="utf-8")
        self.section = text.split("## The same mistakes in the code")[1].split("\n## ")[0]

    def test_each_variant_is_named(self):
        for variant in check.CHECKS:
            if variant.violates is not check.HOLDS:
                self.assertIn(f"`{variant.name}`", self.section)

    def test_the_tests_are_there(self):
        tests = set(re.findall(r"`([a-z]+(?:_[a-z0-9]+){3,})(?:\[hung\])?`", self.section))
        self.assertGreater(len(tests), 20)
        places = [*self.root.glob("ha/**/*_test.c"), *self.root.glob("node/**/*.c"),
                  *self.root.glob("itests/features/cluster/test_cluster_lead.py")]
        code = "\n".join(place.read_text(encoding="utf-8") for place in places)
        self.assertEqual([name for name in tests if not re.search(rf"\b{name}\(", code)], [])


if __name__ == "__main__":
    unittest.main()
