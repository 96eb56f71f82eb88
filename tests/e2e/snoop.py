# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A reader of stacksnoop's three forms.

    TIME(s)            COMM         PID    CPU STACK            with -v; else TIME and STACK alone
    42005557.056332998 sync         22352  1
    42005557.056332998 sync         22352  1   ip: ffffffff81280461 ext4_sync_fs
    42005557.056332998 sync         22352  1   r0: ffffffff811ed7f9 iterate_supers
    42005557.056332998 sync         22352  1   u0: 7f9cafbeee97     sync
"""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass, field

from tool import STACKSNOOP, Live, check_account, read_folded, trace as trace_with, user_chain

HEADER = f"{'TIME(s)':<18} STACK"
VERBOSE_HEADER = f"{'TIME(s)':<18} {'COMM':<12} {'PID':<6} {'CPU':<3} STACK"
TIME = r"\d+\.\d{9}|\d\d:\d\d:\d\d\.\d{9}"
FRAME = r"(?:(\w+): ([0-9a-f]+|(?= )) *(\S.*))?"
LINE = [re.compile(rf"({TIME}) *{FRAME}"), re.compile(rf"({TIME}) +(.*?) +(\d+) +(\d+) +{FRAME}")]  # plain, and with -v
NS = 1_000_000_000


@dataclass
class Event:
    time: str
    comm: str = None
    pid: int = None
    tid: int = None
    cpu: int = None
    kernel: list = field(default_factory=list)  # what stands behind the addresses, innermost first
    user: list = field(default_factory=list)

    @property
    def ns(self):
        return to_ns(self.time)

    @property
    def chain(self):
        """From the workload's root on, '' if there is none."""
        return user_chain(self.user[::-1])


def now_ns():
    return time.clock_gettime_ns(time.CLOCK_MONOTONIC)


def to_ns(text):
    seconds, _, rest = text.partition(".")
    for part in seconds.split(":")[:-1]:
        assert int(part) < 60
    whole = 0
    for part in seconds.split(":"):
        whole = whole * 60 + int(part)
    return whole * NS + int(rest)


def read_text(out, is_verbose=False):
    """Every event of text; the last one is whole too. That it is laid out to the byte is in tests/unit/test_event.c."""
    header, *lines = out.split("\n")
    assert header == (VERBOSE_HEADER if is_verbose else HEADER) and lines.pop() == "", f"the last line is cut: {out[-80:]!r}"
    events = []
    for line in lines:
        found = LINE[is_verbose].fullmatch(line)
        assert found, f"no line of an event: {line!r}"
        *head, what, address, label = found.groups()
        if not what:
            events.append(Event(*head[:2], int(head[2]), None, int(head[3])) if is_verbose else Event(*head))
            begin = head
            continue
        assert head == begin, f"{line!r} is of another event than the line before"
        assert address or label.startswith(("[cut: ", "[unverified: ")), line
        (events[-1].user if what[0] == "u" else events[-1].kernel).append(label)
    return events


def _label(frame):
    """A name, or a mark as the other forms have it."""
    for mark in ("cut", "unverified"):
        if mark in frame:
            assert set(frame) == {mark}, frame
            return f"[{mark}: {frame[mark]}]"
    assert "addr" in frame, frame
    return frame.get("name", "?")


def read_json(out):
    """Every event of --json: a line each. The members of frames are in tests/unit/test_event.c."""
    assert out == "" or out.endswith("\n"), f"the last line is cut: {out[-80:]!r}"
    events = []
    for line in out.split("\n")[:-1]:
        members = json.loads(line, parse_float=str)
        assert list(members) == ["time", "comm", "pid", "tid", "cpu", "kernel", "user"], line
        assert re.fullmatch(r"\d+\.\d{9}", members["time"]), line
        for side in ("kernel", "user"):
            members[side] = [_label(frame) for frame in members[side]]
        assert all(isinstance(members[name], int) for name in ("pid", "tid", "cpu")), line
        events.append(Event(**members))
    return events


def folded_chains(out):
    """({chain: events}, events) of folded output, in which each line is one event."""
    # Equal lines are many, and parsed once.
    lines = Counter(out.split("\n"))
    assert lines.pop("", 0) == 1, "an empty line, or the last one is cut"
    sums = Counter()
    for line, n in lines.items():
        ((parts, count),) = read_folded(line + "\n")
        assert count == 1, line
        sums[user_chain(parts)] += n
    return {chain: n for chain, n in sums.items() if chain}, sum(sums.values())


def event_chains(events):
    return dict(Counter(event.chain for event in events if event.chain))


def trace(workload, *args, **options):
    return trace_with(workload, *args, program=STACKSNOOP, **options)


def live_snoop(*args, **popen):
    """A stacksnoop that counts when the with statement begins."""
    return Live(args, program=STACKSNOOP, **popen)


def check_sum(result, found, expected):
    """Each chain has at most its own count, and what is missing is said to be lost."""
    result.ok()
    expected = {chain: n for chain, n in expected.items() if n}
    assert set(found) <= set(expected), (found, expected)
    assert all(n <= expected[chain] for chain, n in found.items()), (found, expected)
    check_account(result, sum(expected.values()), sum(found.values()))


def check_all(result, found, expected):
    """And nothing is lost."""
    assert result.lost == 0, result.err
    check_sum(result, found, expected)
