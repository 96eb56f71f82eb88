# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The table: figures, their ratios to a floor or peer, and goals."""

from statistics import median


class Table:
    def __init__(self):
        self.rows = []

    def title(self, text):
        self.rows.append((text,))

    def add(self, name, figure, ratio=None, against="", goal=None):
        """@goal: ("ratio" or "value", most, value); met when it is at most that."""
        mark, wanted = "", ""
        if goal:
            kind, most, value = goal
            wanted = f"<= {most:g}" + (" x" if kind == "ratio" else "")
            mark = "not measured" if value is None else "yes" if value <= most else "**NO**"
        shown = "" if ratio is None else f"{ratio:.2f} x {against}"
        self.rows.append((name, figure, shown, wanted, mark))

    def text(self):
        """The table in Markdown, with aligned columns."""
        head = ("what", "figure", "ratio", "goal", "met")
        full = [row for row in self.rows if len(row) > 1]
        widths = [max(len(row[i]) for row in [*full, head]) for i in range(5)]
        lines = []
        for row in self.rows:
            if len(row) == 1:
                lines += ["", f"### {row[0]}", "", self._line(head, widths)]
                lines.append("|" + "|".join("-" * (w + 2) for w in widths) + "|")
            else:
                lines.append(self._line(row, widths))
        return "\n".join(lines[1:]) + "\n"

    @staticmethod
    def _line(cells, widths):
        return "| " + " | ".join(c.ljust(w) for c, w in zip(cells, widths)) + " |"


def middle(values):
    """The median of the values that are not None, or None."""
    there = [v for v in values if v is not None]
    return median(there) if there else None


def ratios(values, floors):
    """The median of the ratios of each round. A disturbance in a round affects both figures."""
    return middle([v / f for v, f in zip(values, floors) if v is not None and f])


def shown(value, unit, digits=0):
    return "-" if value is None else f"{value:.{digits}f} {unit}"
