# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What /proc tells of a tool's process, its threads and its helpers; and ending them."""

import ctypes
import fcntl
import os
import re
import select
import termios
from contextlib import suppress
from pathlib import Path

from tool import PATIENCE_S

LIBC, PIDFD_GETFD = ctypes.CDLL(None), 438
WARDEN, OPENER, PARSER = "helper-warden", "tables-opener", "tables-parser"


def children(pid):
    """{name: PID} of the processes that process @pid has forked."""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with suppress(FileNotFoundError):
            for child in Path(f"/proc/{pid}/task/{tid}/children").read_text().split():
                found[Path(f"/proc/{child}/comm").read_text().rstrip("\n")] = int(child)
    return found


def helpers(pid):
    """
    {name: PID} of the helpers of the tool with process @pid, its warden among them. A helper that has just been
    made still has the warden's name.
    """
    warden = children(pid).get(WARDEN)
    return {**children(warden), WARDEN: warden} if warden else {}


def is_asked(pid):
    """Does a question lie unread in a socket of the helper @pid, which is stopped?"""
    for fd in map(int, os.listdir(f"/proc/{pid}/fd")):
        if os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:"):
            with open(os.pidfd_open(pid)) as handle, open(LIBC.syscall(PIDFD_GETFD, handle.fileno(), fd, 0)) as copy:
                if fcntl.ioctl(copy, termios.FIONREAD, bytes(4)) != bytes(4):
                    return True
    return False


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
