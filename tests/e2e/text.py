# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of the text layout: whatever bcc's stackcount would not have written fails.

    Tracing 1 functions for "t:syscalls:sys_enter_getppid"... Hit Ctrl-C to end.
                          an empty line per report
    14:02:11              with -T
      do_syscall_64       frames, innermost first: kernel's, then user's
      main
        syscalls [1234]   with -P
        12                the count, and an empty line
    Detaching...
"""

import re
from dataclasses import dataclass, field

HEADER = re.compile(r'Tracing (\d+) functions? for ".*"\.\.\. Hit Ctrl-C to end\.\n')
ENTRY = re.compile(r"((?:  (?:\S.*| {17}\[(?:cut|unverified): .*)\n)*)"  # with -v a mark has blanks for its address
                   r"(?:    (.+) \[(\d+)\]\n)?    (\d+)\n\n")
REPORT = re.compile(r"\n(?:\d\d:\d\d:\d\d\n)?")
LOST = re.compile(r"Lost \d+ hits?(?: \([\d.]+%\))?: .*\n")
DETACHED = re.compile(r"Detaching\.\.\.\n\Z")


@dataclass
class Entry:
    frames: list  # without their two blanks
    comm: str
    pid: int
    count: int


@dataclass
class Report:
    entries: list = field(default_factory=list)

    @property
    def total(self):
        return sum(entry.count for entry in self.entries)


@dataclass
class Text:
    n_functions: int
    reports: list
    detached: bool

    @property
    def entries(self):
        return [entry for report in self.reports for entry in report.entries]


def parse_text(out):
    """Text of standard output. Fails on any line out of place."""
    found = HEADER.match(out)
    assert found, f"no header: {out[:80]!r}"
    text = Text(int(found[1]), [], False)
    while (at := found.end()) < len(out):
        if found := ENTRY.match(out, at):
            frames = [line[2:] for line in found[1].split("\n")[:-1]]
            text.reports[-1].entries.append(Entry(frames, found[2], found[3] and int(found[3]), int(found[4])))
        elif found := REPORT.match(out, at):
            text.reports.append(Report())
        elif not (found := LOST.match(out, at)):
            found = DETACHED.match(out, at)
            assert found, f"out of place: {out[at:at + 80]!r}"
            text.detached = True
    return text
