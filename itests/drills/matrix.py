"""The rows of the matrix, in its order. Importing the files is what makes the rows known."""

# pylint: disable=unused-import
from drills import (rows_address, rows_crowd, rows_links, rows_other, rows_processes,  # noqa: F401
                    rows_redis, rows_sentinel, rows_sharing, rows_slots, rows_slow,
                    rows_zookeeper)
from drills.row import ROWS


def _order(number):
    digits = number.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits), number[len(digits):]


MATRIX = {number: ROWS[number] for number in sorted(ROWS, key=_order)}
