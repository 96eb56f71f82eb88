# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the main process gives up once it counts, and that it counts all the same."""

import os
import re

import pytest
from processes import statuses
from tool import FUNCCOUNT, GETPPID, STACKCOUNT, STACKSNOOP, Live, stackcount
from tool import wait_until

# BPF, PERFMON, IPC_LOCK, SYS_ADMIN, SYSLOG, SYS_PTRACE
KEPT = sum(1 << number for number in (39, 38, 14, 21, 34, 19))


def has_few_privileges(status):
    masks = {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    few = KEPT & masks["CapPrm"]
    return (masks == {"CapInh": 0, "CapPrm": few, "CapEff": few, "CapBnd": 0, "CapAmb": 0}
            and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2")


@pytest.mark.parametrize("program, command", [
    (STACKCOUNT, []), (STACKSNOOP, []), (FUNCCOUNT, []), pytest.param(STACKCOUNT, ["--", "sleep", "1000"], marks=pytest.mark.thorough),
])
def test_every_thread_has_few_privileges_while_it_counts(program, command):
    with Live([GETPPID, *command], program=program) as tool:
        wait_until(lambda: all(map(has_few_privileges, statuses(tool.pid))), "some thread has more")
        tool.end().ok()


def test_a_command_has_all_privileges():
    result = stackcount("-f", GETPPID, "--", "cat", "/proc/self/status").ok()
    own = statuses(os.getpid())[0]
    command = dict(re.findall(r"^(\w+):\s*(.*)$", result.out, re.M))
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
        assert command[name] == own[name], name
