# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A strict reader of the text layout: whatever bcc's stackcount would not have written fails.

    Tracing 1 functions for "t:syscalls:sys_enter_getppid"... Hit Ctrl-C to end.
                          an empty line per report
    14:02:11              with -T
      do_syscall_64       frames, innermost first: kernel's, then user's
        --                with -d
      main
        syscalls [1234]   with -P
        12                the count, and an empty line
    Detaching...
"""

import re
from collections import deque
from dataclasses import dataclass, field

HEADER = re.compile(r'Tracing (\d+) functions? for "(.*)"\.\.\. Hit Ctrl-C to end\.')
TIME = re.compile(r"\d\d:\d\d:\d\d")
FRAME = re.compile(r"  (\S.*| {17}\[(?:cut|unverified): .*)")  # with -v a mark has blanks for its address
DELIMITER = "    --"
PROCESS = re.compile(r"    (.+) \[(\d+)\]")
COUNT = re.compile(r"    (\d+)")
LOST = re.compile(r"Lost (\d+) hits?(?: \([\d.]+%\))?: .*")


@dataclass
class Entry:
    frames: list = field(default_factory=list)  # without their two blanks
    user_frames: list = None  # with -d, what stands behind the delimiter
    comm: str = None
    pid: int = None
    count: int = None


@dataclass
class Report:
    time: str = None
    entries: list = field(default_factory=list)

    @property
    def total(self):
        return sum(entry.count for entry in self.entries)


@dataclass
class Text:
    n_functions: int
    pattern: str
    reports: list
    detached: bool

    @property
    def entries(self):
        return [entry for report in self.reports for entry in report.entries]


def _read_entry(lines):
    entry = Entry()
    while lines and (found := FRAME.fullmatch(lines[0])):
        lines.popleft()
        target = entry.frames if entry.user_frames is None else entry.user_frames
        target.append(found[1])
        if lines and lines[0] == DELIMITER and entry.user_frames is None:
            lines.popleft()
            entry.user_frames = []
    if lines and lines[0] == DELIMITER and entry.user_frames is None:
        lines.popleft()
        entry.user_frames = []
        while lines and (found := FRAME.fullmatch(lines[0])):
            lines.popleft()
            entry.user_frames.append(found[1])
    if lines and (found := PROCESS.fullmatch(lines[0])):
        lines.popleft()
        entry.comm, entry.pid = found[1], int(found[2])
    found = COUNT.fullmatch(lines[0]) if lines else None
    assert found, f"no count but {list(lines)[:1]!r}"
    entry.count = int(found[1])
    lines.popleft()
    assert lines and lines[0] == "", f"no empty line behind the count but {list(lines)[:1]!r}"
    lines.popleft()
    return entry


def parse_text(out):
    """Text of standard output. Fails on any line out of place."""
    assert out.endswith("\n"), f"the last line is cut: {out[-80:]!r}"
    lines = deque(out.split("\n")[:-1])
    header = HEADER.fullmatch(lines.popleft())
    assert header, "no header"
    reports = []
    detached = False
    while lines:
        if lines[0] == "":
            lines.popleft()
            reports.append(Report())
            if lines and TIME.fullmatch(lines[0]):
                reports[-1].time = lines.popleft()
        elif lines[0] == "Detaching...":
            lines.popleft()
            detached = True
        elif LOST.fullmatch(lines[0]):
            lines.popleft()
        else:
            assert reports and not detached, f"out of place: {lines[0]!r}"
            reports[-1].entries.append(_read_entry(lines))
    return Text(int(header[1]), header[2], reports, detached)
