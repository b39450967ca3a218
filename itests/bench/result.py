"""What a measurement comes to: a table of rows, and the series that pictures are drawn from.

Pure, and made of plain values only: a result goes into doc/plots/results.json and comes back
from it unchanged, so that pages and pictures can be made again without measuring.
"""

from dataclasses import asdict, dataclass, field


@dataclass
class Row:
    """One value a column; None where nothing was measured, the note says why."""

    what: str
    values: list
    unit: str
    at_least: float = None
    at_most: float = None
    column: int = 0  # whose value the bound is for; None: for each
    note: str = ""
    excuse: str = ""  # why missing the bound is no failure

    @property
    def is_met(self):
        """None where there is no target, or a value is missing that could still miss it."""
        if self.at_least is None and self.at_most is None:
            return None
        judged = self.values if self.column is None else [self.values[self.column]]
        verdicts = [None if value is None else self._is_within(value) for value in judged]
        if False in verdicts:
            return False
        return None if None in verdicts or not verdicts else True

    def _is_within(self, value):
        return value >= self.at_least if self.at_least is not None else value <= self.at_most

    @property
    def is_failure(self):
        return self.is_met is False and not self.excuse


@dataclass
class Result:
    """A table as it was measured. `about` says where and when."""

    name: str
    title: str
    columns: list
    rows: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    broken: list = field(default_factory=list)  # what could not be measured, and why
    series: dict = field(default_factory=dict)
    about: dict = field(default_factory=dict)

    def add(self, what, values, unit, **rest):
        """A row; a single value may stand without brackets."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        values += [None] * (len(self.columns) - len(values))
        self.rows.append(Row(what, values, unit, **rest))

    def drop_targets(self):
        """For sizes that say nothing about them."""
        for row in self.rows:
            row.at_least = row.at_most = None

    @property
    def failures(self):
        """Sentences: targets that were missed, and what broke."""
        return [row.what for row in self.rows if row.is_failure] + self.broken

    def as_json(self):
        """Verdicts are for the readers; from_json() does not look at them."""
        answer = asdict(self)
        for plain, row in zip(answer["rows"], self.rows):
            plain["is_met"] = row.is_met
        return answer

    @classmethod
    def from_json(cls, answer):
        rows = [Row(**{name: value for name, value in row.items() if name != "is_met"})
                for row in answer["rows"]]
        return cls(**{**answer, "rows": rows})
