# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A perf event of somebody else at a tracepoint: how many samples has the kernel kept for it?"""

import ctypes
import mmap
import os
import struct

import kernel

PERF_EVENT_OPEN = 298  # x86-64
TYPE_TRACEPOINT = 2
SAMPLE_TID = 1 << 1
RECORD_BYTES = 16  # a header and two numbers
PAGES = 8
DATA_HEAD = 1024  # of the first page
NO_GROUP = -1
CLOEXEC = 1 << 3


class Samples:
    """Each hit of @tracepoint ("syscalls/sys_enter_getppid") in this thread; in a with statement."""

    def __init__(self, tracepoint):
        found = kernel.in_tracefs(f"cat events/{tracepoint}/id")
        self._number = int(found.stdout)

    def __enter__(self):
        attributes = struct.pack("<IIQQQQQ", TYPE_TRACEPOINT, 64, self._number, 1, SAMPLE_TID, 0, 0).ljust(64, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        self._fd = libc.syscall(PERF_EVENT_OPEN, attributes, 0, -1, NO_GROUP, CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), f"perf_event_open of {self._number}")
        self._ring = mmap.mmap(self._fd, (1 + PAGES) * mmap.PAGESIZE)
        return self

    def __exit__(self, *_):
        self._ring.close()
        os.close(self._fd)

    def n(self):
        return struct.unpack_from("<Q", self._ring, DATA_HEAD)[0] // RECORD_BYTES
