"""The node's own tables, read from its sources: what can go wrong, and what there is to ask."""

import re
from collections import namedtuple

from harness.build import ROOT
from harness.openapi import contract_of

HTTP, API = ROOT / "protocol/http", ROOT / "protocol/api"
ErrorRow = namedtuple("ErrorRow", "name status code text")


def contract_in_source():
    return contract_of((API / "openapi.yaml").read_bytes())


def error_rows():
    """errors.h, row by row."""
    header = (HTTP / "errors.h").read_text(encoding="utf-8")
    rows = re.findall(r'X\((\w+),\s*(\d+),\s*"(\w+)",\s*"(.*)"\)', header)
    assert rows, "errors.h has another form than this expects"
    return [ErrorRow(name, int(status), code, text) for name, status, code, text in rows]


def routes():
    """[(method, template)] of the API's app.c."""
    source = (API / "app.c").read_text(encoding="utf-8")
    return re.findall(r'"(GET|POST|DELETE|PUT|PATCH)"\)?,\s*(?:BYTES\()?"(/[^"]*)"', source)
