"""The settings of topics, as base/topic_settings.h defines them."""

import re

from harness.build import ROOT

_ROW = re.compile(r'X\([A-Z_]+, "([a-z_]+)", ([a-z_]+), ([A-Z]+), \d+, [^,]+, (\d+),')
_ROWS = _ROW.findall((ROOT / "base" / "topic_settings.h").read_text(encoding="utf-8"))
_BUILT_IN = {"DURATION": int, "COUNT": int, "SIZE": int, "SWITCH": lambda number: number != "0",
             "BACKOFF": lambda _: {"kind": "none"}}

WORDS = [word for word, *_ in _ROWS]  # of the configuration and of dueqctl, in their order
BUILT_IN = {member: _BUILT_IN[kind](number) for _, member, kind, number in _ROWS}  # of the API
