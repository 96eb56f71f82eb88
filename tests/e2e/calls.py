# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of funccount's text: whatever bcc's would not have written fails.

    Tracing 2 functions for "vfs_r*"... Hit Ctrl-C to end.
                                                  an empty line per report
    14:02:11                                      with -T
    FUNC                                    COUNT
    vfs_readv                                   3
    TOTAL                                       3  with -v
    Detaching...
"""

import re
from collections import Counter
from dataclasses import dataclass, field

from tool import FUNCCOUNT, Tool

HEADER = re.compile(r'Tracing (\d+) functions for (.*)\.\.\. Hit Ctrl-C to end\.')
LINE_HEAD = "FUNC                                    COUNT"
TIME = re.compile(r"\d\d:\d\d:\d\d")
ROW = re.compile(r"(.*\S) +(\d+)")
LOST = re.compile(r"Lost \d+ hits?(?: \([\d.]+%\))?: .*")


@dataclass
class Report:
    time: str = None
    rows: list = field(default_factory=list)  # (name, count), as printed
    total: int = None


@dataclass
class Text:
    n_functions: int
    patterns: str
    reports: list

    @property
    def counts(self):
        """{name: count} over all reports."""
        sums = Counter()
        for report in self.reports:
            for name, count in report.rows:
                sums[name] += count
        return dict(sums)


def _read_report(lines):
    report = Report()
    assert lines.pop(0) == "", "no empty line before a report"
    if TIME.fullmatch(lines[0]):
        report.time = lines.pop(0)
    assert lines.pop(0) == LINE_HEAD
    while lines and (found := ROW.fullmatch(lines[0])):
        name, count = found[1], int(found[2])
        assert lines.pop(0) == f"{name:<36} {count:>8}"
        if name == "TOTAL":
            report.total = count
            break
        report.rows.append((name, count))
    if lines and LOST.fullmatch(lines[0]):
        lines.pop(0)
    counts = [count for _, count in report.rows]
    assert counts == sorted(counts), "not least frequent first"
    assert all(counts), "a function that was not called"
    return report


def parse_calls(text):
    assert text.endswith("\n"), f"the last line is cut: {text[-80:]!r}"
    lines = text.split("\n")[:-1]
    found = HEADER.fullmatch(lines.pop(0))
    assert found, f"no header: {text[:200]!r}"
    assert lines.pop() == "Detaching...", text[-200:]
    reports = []
    while lines:
        reports.append(_read_report(lines))
    return Text(int(found[1]), found[2], reports)


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
