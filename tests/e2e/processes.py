# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What /proc tells of a tool's process, its threads and its helpers; and ending them."""

import os
import re
import select
from contextlib import suppress
from pathlib import Path

from tool import PATIENCE_S

ZYGOTE, FINDER, PARSER = "file-zygote", "file-finder", "file-parser"


def children(pid):
    """{name: PID} of the processes that process @pid has forked."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError):
            for child in Path(f"/proc/{pid}/task/{tid}/children").read_text().split():
                found[Path(f"/proc/{child}/comm").read_text().rstrip("\n")] = int(child)
    return found


def helpers(zygote):
    """PIDs of the zygote's children: one for each question that it is asked now, and those that stay for another one."""
    return [int(child) for child in Path(f"/proc/{zygote}/task/{zygote}/children").read_text().split()]


def zygote_of(tool):
    """The process that makes helpers of that tool."""
    return children(tool.pid)[ZYGOTE]


def wait_for_ends(handles):
    """Until the processes of these pidfds have ended."""
    for handle in handles:
        assert select.select([handle], [], [], PATIENCE_S)[0]
        os.close(handle)


def open_files(pid):
    """What the descriptors of process @pid are, in order."""
    folder = Path(f"/proc/{pid}/fd")
    return [os.readlink(folder / str(fd)) for fd in sorted(int(link.name) for link in folder.iterdir())]


def statuses(pid):
    """The status of each thread of process @pid, as {name: value}."""
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            found.append(dict(re.findall(r"^(\w+):\s*(.*)$", (task / "status").read_text(), re.M)))
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return found


def cpu_time_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
