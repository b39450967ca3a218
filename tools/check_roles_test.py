#!/usr/bin/env python3
"""Plants differences into a small table, description and page, and sees each of them found."""
import pathlib
import tempfile
import unittest

import check_roles

TABLE = '''static const struct route routes[] = {
    {"POST", BYTES("/v1/topics/{topic}/purge"), api_sweep, .body = ROUTE_SMALL_BODY,
        .operation = "purge", .roles = ACCESS_OPERATE},
    {"GET", BYTES("/v1/topics/{topic}"), api_stats,
        .operation = "getTopic", .roles = ACCESS_INSPECT | ACCESS_OPERATE},
    {"GET", BYTES("/health/live"), health_live, .is_for_monitors = true,
        .roles = ACCESS_EVERYBODY},
};
'''
DESCRIPTION = '''paths:
  /v1/topics/{topic}/purge:
    post:
      operationId: purge
      x-roles: [operate]
  /v1/topics/{topic}:
    get:
      operationId: getTopic
      x-roles: [inspect, operate]
'''
DIALECT = '''static const struct route routes[] = {
    {NULL, BYTES("/push"), push, .body = ROUTE_JOBS_BODY,
        .operation = "push", .roles = ACCESS_PRODUCE},
    {"GET", BYTES("/job"), get, .roles = ACCESS_PRODUCE | ACCESS_INSPECT},
    {"PUT", BYTES("/token"), put, .roles = ACCESS_ADMIN},
    {"GET", BYTES("/token"), list, .roles = ACCESS_ADMIN},
    {"PUT", BYTES("/jobs"), put, .roles = ACCESS_PRODUCE},
    {"DELETE", BYTES("/jobs"), purge, .roles = ACCESS_OPERATE},
    {"GET", BYTES("/health"), tell_health, .roles = ACCESS_EVERYBODY},
};
'''
PAGE = '''| `operate` | touches many | `purge`, `getTopic` |
| `inspect` | looks | `getTopic` |

| port | `produce` | `consume` | `inspect` | `operate` | `admin` | for everybody |
|---|---|---|---|---|---|---|
| [`some`](some.md) | `/push`, `/job`, `PUT /jobs` | | `/job` | `DELETE /jobs` | `/token` | `/health` |
'''


def found(table=TABLE, description=DESCRIPTION, page=PAGE, dialect=DIALECT):
    files = {"protocol/api/app.c": table, "protocol/api/openapi.yaml": description,
             "protocol/some/app.c": dialect, "doc/security.md": page}
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            place = pathlib.Path(root, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        return list(check_roles.complaints(pathlib.Path(root)))


class Roles(unittest.TestCase):
    def test_what_is_the_same_everywhere_is_fine(self):
        self.assertEqual(found(), [])

    def test_each_difference_is_found(self):
        for planted in [
                {"table": TABLE.replace("ACCESS_OPERATE}", "ACCESS_ADMIN}", 1)},
                {"table": TABLE.replace(', .roles = ACCESS_OPERATE}', "}", 1)},
                {"table": TABLE.replace('"/health/live"', '"/v1/secret"')},
                {"table": TABLE.replace('.operation = "getTopic"', '.operation = "purge"')},
                {"table": "static const struct route routes[] = {\n};\n"},
                {"description": DESCRIPTION.replace("[operate]", "[produce]")},
                {"description": DESCRIPTION.replace("      x-roles: [operate]\n", "")},
                {"page": PAGE.replace("`purge`, ", "")},
                {"page": PAGE.replace("`inspect` |", "`admin` |", 1)},
                {"page": PAGE.replace("`/push`, ", "")},
                {"page": PAGE.replace("| `/job` | `DELETE", "| | `/job`, `DELETE")},
                {"page": PAGE.replace("`DELETE /jobs`", "")},
                {"page": PAGE.replace("`PUT /jobs`", "`/jobs`")},
                {"dialect": DIALECT.replace("list, .roles = ACCESS_ADMIN",
                                            "list, .roles = ACCESS_INSPECT")},
                {"dialect": DIALECT.replace("ACCESS_PRODUCE}", "ACCESS_CONSUME}")},
                {"dialect": DIALECT.replace(".roles = ACCESS_EVERYBODY", ".what = 1")},
                {"dialect": DIALECT.replace('"/job"', '"/jobx"')}]:
            with self.subTest(planted):
                self.assertNotEqual(found(**planted), [])


if __name__ == "__main__":
    unittest.main()
