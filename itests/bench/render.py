"""Tables for people: aligned text, and Markdown for doc/. Pure."""

WHOLE = ("/s", "bytes", "jobs", "nodes", "masters", "%")  # nobody wants their fractions


def number(value, unit):
    if value is None:
        return "-"
    digits = 0 if unit in WHOLE or abs(value) >= 100 else 1 if abs(value) >= 10 else 2
    return f"{value:,.{digits}f}"


def _target(row, columns):
    if row.at_least is None and row.at_most is None:
        return ""
    word, bound = ("at least", row.at_least) if row.at_least is not None else \
        ("at most", row.at_most)
    where = f" ({columns[row.column]})" if len(columns) > 1 and row.column is not None else ""
    return f"{word} {number(bound, row.unit)}{where}"


def _verdict(row):
    if row.is_met is False and row.excuse:
        return "missed"
    return {None: "", True: "met", False: "MISSED"}[row.is_met]


def _cells(row, columns):
    notes = [row.note] if row.note else []
    if row.is_met is False and row.excuse:
        notes.append(row.excuse)
    return [row.what, *(number(value, row.unit) for value in row.values), row.unit,
            _target(row, columns), _verdict(row), "; ".join(notes)]


def _grid(result):
    """All cells, the head first; columns at the end that say nothing are left out."""
    lines = [["", *result.columns, "", "target", "", ""]]
    lines += [_cells(row, result.columns) for row in result.rows]
    if not any(line[-3] for line in lines[1:]):
        lines[0][-3] = ""
    while len(lines[0]) > 1 and not any(line[-1] for line in lines):
        lines = [line[:-1] for line in lines]
    return lines


def heading(result):
    return f"{result.name}: {result.title}"


def text(result):
    lines = _grid(result)
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    last_number = len(result.columns)
    aligned = ["  ".join(cell.rjust(width) if 1 <= i <= last_number else cell.ljust(width)
                         for i, (cell, width) in enumerate(zip(line, widths))).rstrip()
               for line in lines]
    notes = [f"({note})" for note in result.notes] + [f"BROKEN: {why}" for why in result.broken]
    return "\n".join([heading(result), *("  " + line for line in aligned + notes)])


def markdown(result):
    head, *rest = _grid(result)
    marks = ["---:" if 1 <= i <= len(result.columns) else "---" for i in range(len(head))]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, *rest)]
    lines.insert(1, "|" + "|".join(marks) + "|")
    notes = [f"\n{note[0].upper()}{note[1:]}." for note in result.notes]
    notes += [f"\nNot measured: {why}." for why in result.broken]
    return "\n".join([f"### {heading(result)}", "", *lines, *notes])


def summary(results):
    """The last words of a run: what was missed."""
    missed = [f"{result.name}: {what}" for result in results for what in result.failures]
    verdicts = [row.is_met for result in results for row in result.rows]
    met = verdicts.count(True)
    if not missed and not met:
        return "no targets were judged"
    if not missed:
        return f"{met} targets met, none missed"
    return "\n".join([f"{met} targets met, {len(missed)} missed:",
                      *("  " + line for line in missed)])
