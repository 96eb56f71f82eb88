# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
Stacks of programs as distributions build them, without frame pointers: 999 of 1,000 go down to
where the process or thread began, and the others say why not. That each rule is what readelf says of
its row is in tests/unit/test_unwind_rows.c.
"""

import os
import re
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import programs
import pytest
from programs import running
from tool import read_folded, stackcount

pytestmark = pytest.mark.thorough

DWARF = ("--unwind", "dwarf")
LEAST_WHOLE = 0.999

# With -v what has no name says where it lies: the _start of a program without symbols, and what
# libc starts a thread with, where its debug file is not installed.
UNNAMED = r"\[[^ ;]+\] [^ ;]+\+0x[0-9a-f]+"
IN_LIBC = r"\[libc\.so\.6(?:\+0x[0-9a-f]+)?\] libc\.so\.6\+0x[0-9a-f]+"
ROOT = re.compile(rf"_start;|{UNNAMED};__libc_start_main;|(clone3|{IN_LIBC});(start_thread|{IN_LIBC});")
CUT = re.compile(r"\[cut: (.*?)\]")

SYSCALL, SWITCH, MALLOC = "t:raw_syscalls:sys_enter", "t:sched:sched_switch", "c:malloc"
JAVA_NATIVE = f"{os.path.realpath('/usr/bin/java').rpartition('/bin/')[0]}/lib/libnio.so:*access0"

# The program, and what it comes to again and again.
SEVERAL = {SYSCALL: 2000, MALLOC: 2000}
PROGRAMS = {
    programs.bash: SEVERAL,
    programs.python3: SEVERAL,
    programs.node: SEVERAL,
    programs.java: {SYSCALL: 2000, JAVA_NATIVE: 2000},
    programs.fd: SEVERAL,
}
# Their compilers map code as they run.
JIT = (programs.node, programs.java)

# Java's own code, without -XX:+PreserveFramePointer: its caller is found by the function's set-up, and the
# stack is marked, or there is nothing to find it by.
UNVERIFIED = "[unverified: frame pointers]"
NO_FRAME_POINTERS = {programs.java: ["root, unverified", "no frame pointer, in [anon]"]}

PACER = """
import os, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
while True:
    time.sleep(0.00005)
"""


def pin(pid, cpu):
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), [cpu])


@pytest.fixture
def pacer():
    """pacer(PID): that process is preempted some thousand times a second, wherever it stands."""
    with ExitStack() as at_end:

        def start(pid):
            cpu = max(os.sched_getaffinity(0))
            pin(pid, cpu)
            at_end.enter_context(running(["/usr/bin/python3", "-c", PACER, cpu]))

        yield start


@pytest.fixture(scope="module", params=PROGRAMS, ids=lambda program: program.__name__)
def program(request, tmp_path_factory):
    """(what it is, PID)"""
    with request.param(tmp_path_factory.mktemp(request.param.__name__)) as pid:
        yield request.param, pid


def how_they_end(result):
    """{"root" (and ", unverified"), the reason of a cut, or a function where nothing begins: hits}"""
    ends = Counter()
    for parts, n in read_folded(result.ok().out):
        whole = [part for part in parts if part != UNVERIFIED]
        stack = ";".join([*whole, ""])
        cut = CUT.match(stack)
        reason = cut and cut[1] + (", in [anon]" if whole[1].startswith("[unknown] [anon]") else "")
        root = "root" if whole == parts else "root, unverified"
        ends[root if ROOT.match(stack) else reason or "in " + whole[0]] += n
    return ends


def check_event(program, event, n):
    """@n hits of @event."""
    what, pid = program
    result = stackcount(*DWARF, "-U", "-f", "-v", "-n", n, "-p", pid, event)
    ends = how_they_end(result)
    print(f"{what.__name__}: {event}: {dict(ends)}")
    # A preemptible kernel skips hits while another program runs on the CPU, and that is said.
    skipped = re.search(r"(\d+) another BPF program was running", result.err)
    assert sum(ends.values()) >= n and result.lost == int(skipped[1] if skipped else 0), result
    # After a mapping, user space reads the process again: how long that takes depends on the machine's load.
    reasons = ["no table yet", "too many waited"] + ["no mapping"] * (what in JIT)
    late = sum(n for end, n in ends.items() if end.startswith(tuple(reasons)))
    without = sum(ends[end] for end in NO_FRAME_POINTERS.get(what, []))
    assert ends["root"] + without > 0 and ends["root"] + without + late >= LEAST_WHOLE * n, f"{dict(ends)}: {result}"
    assert not any(end.startswith("in ") for end in ends), f"{dict(ends)}: {result}"


@pytest.mark.needs("uprobes")
def test_system_calls_and_functions_and_probes(program):
    for event, n in PROGRAMS[program[0]].items():
        check_event(program, event, n)


def test_wherever_it_is_preempted(program, pacer):
    pacer(program[1])
    check_event(program, SWITCH, 1000)
