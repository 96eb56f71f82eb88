# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of funccount's text: whatever bcc's would not have written fails.

    Tracing 2 functions for "vfs_r*"... Hit Ctrl-C to end.
                                                  an empty line per report
    FUNC                                    COUNT
    vfs_readv                                   3
    Detaching...
"""

import re
from collections import Counter
from dataclasses import dataclass

from tool import FUNCCOUNT, Tool

HEADER = re.compile(r"Tracing (\d+) functions for .*\.\.\. Hit Ctrl-C to end\.\n")
REPORT = re.compile(r"\nFUNC {36}COUNT\n((?:.*\S +\d+\n)*)(?:Lost \d+ hits?(?: \([\d.]+%\))?: .*\n)?")


@dataclass
class Text:
    n_functions: int
    reports: list  # of rows, (name, count), as printed

    @property
    def counts(self):
        """{name: count} over all reports."""
        sums = Counter()
        for name, count in (row for rows in self.reports for row in rows):
            sums[name] += count
        return dict(sums)


def _read_rows(lines):
    found = [re.fullmatch(r"(.*\S) +(\d+)", line) for line in lines.splitlines()]
    rows = [(row[1], int(row[2])) for row in found]
    assert lines == "".join(f"{name:<36} {count:>8}\n" for name, count in rows)
    counts = [count for _, count in rows]
    assert counts == sorted(counts) and all(counts), "not least frequent first, or a function that was not called"
    return rows


def parse_calls(text):
    found = HEADER.match(text)
    assert found, f"no header: {text[:200]!r}"
    parsed = Text(int(found[1]), [])
    while found := REPORT.match(text, at := found.end()):
        parsed.reports.append(_read_rows(found[1]))
    assert text[at:] == "Detaching...\n", f"out of place: {text[at:][:200]!r}"
    return parsed


def funccount(*args, **options):
    """A run that ends by itself."""
    with Tool(args, program=FUNCCOUNT) as tool:
        return tool.wait(**options)


def count_calls(work, *args, is_lossless=True):
    """Attach, let the workload do all its work, end. Returns the reports. Other processes are not counted."""
    args = args if "-p" in args else ("-p", work.pid, *args)
    with Tool(args, program=FUNCCOUNT) as tool:
        tool.wait_live(240)
        work.run()
        result = tool.end(timeout_s=240).ok()
    text = parse_calls(result.out)
    assert not is_lossless or result.lost == 0, result
    return text
