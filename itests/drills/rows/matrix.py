"""The rows of the matrix, in its order. Importing the files is what makes the rows known."""

# pylint: disable=unused-import
from drills.rows import (address, clients, links, other, processes, redis, rolling,  # noqa: F401
                         sentinel, shares, slots, slow, tubes, zookeeper)
from drills.rows.row import ROWS


def _order(number):
    digits = number.rstrip("abcdefghijklmnopqrstuvwxyz")
    return int(digits), number[len(digits):]


MATRIX = {number: ROWS[number] for number in sorted(ROWS, key=_order)}
