# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
stranger.py KIND ARGUMENT... - what an unprivileged user does to files that root's run may read. Says
"ready" when it is in place, and goes on until its standard input ends.

 cut SHORT FULL FILE...    cut each file short when what is behind SHORT is read, and grow it again, without end
 flip OFFSET FILE...       the byte there is NUL, then 'Z', without end
 lease FILE...             hold a write lease on each; whoever opens it waits until the kernel takes it away
 enter ROOT SOURCE TARGET [SOURCE TARGET]... -- COMMAND...
                           in a root of its own (user and mount namespaces): a copy of each SOURCE is TARGET,
                           "->X" is a link to X, "fifo" a FIFO. The command takes our place
"""

import ctypes
import fcntl
import mmap
import os
import select
import shutil
import signal
import sys
import time
from pathlib import Path

NEW_MOUNTS, NEW_USER = 0x20000, 0x10000000
PIVOT_ROOT, DETACH = 155, 2
PRIVATE_ALL = 1 << 14 | 1 << 18
HOLD_S = 4

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) < 0:
        raise OSError(ctypes.get_errno(), name)


def ready():
    print("ready", flush=True)


def is_over(wait_s=0):
    return bool(select.select([0], [], [], wait_s)[0])


class Victim:
    """A file that is cut short when its reader has come so far, and grows again HOLD_S later."""

    def __init__(self, path, short, full):
        self.path, self.short, self.full = path, short, full
        with open(path, "r+b") as file:
            memory = mmap.mmap(file.fileno(), full)
        self.keep = memory
        self.at = ctypes.c_void_p(ctypes.addressof(ctypes.c_char.from_buffer(memory)) + short)
        self.n = (full - short) // mmap.PAGESIZE
        self.resident = (ctypes.c_char * self.n)()
        self.grows_at = 0

    def is_read(self):
        """Not the last page alone: whoever opens a file looks at the end of its strings."""
        call("mincore", self.at, ctypes.c_size_t(self.n * mmap.PAGESIZE), self.resident)
        return b"\1" in self.resident.raw[:-64]

    def go_on(self):
        now = time.monotonic()
        if self.grows_at and now >= self.grows_at:
            os.truncate(self.path, self.full)
            self.grows_at = 0
        elif not self.grows_at and self.is_read():
            os.truncate(self.path, self.short)
            self.grows_at = now + HOLD_S


def cut(short, full, *paths):
    victims = [Victim(path, int(short), int(full)) for path in paths]
    ready()
    while not is_over():
        for victim in victims:
            victim.go_on()


def flip(offset, *paths):
    at = int(offset) % mmap.PAGESIZE
    pages = []
    for path in paths:
        with open(path, "r+b") as file:
            pages.append(mmap.mmap(file.fileno(), mmap.PAGESIZE, offset=int(offset) - at))
    ready()
    while not is_over():
        for _ in range(2000):
            for page in pages:
                page[at] = 0
            for page in pages:
                page[at] = 0x5A


def lease(*paths):
    signal.signal(signal.SIGIO, signal.SIG_IGN)
    for path in paths:
        fcntl.fcntl(os.open(path, os.O_RDWR), fcntl.F_SETLEASE, fcntl.F_WRLCK)
    ready()
    while not is_over(1):
        pass


def be_root_inside():
    """Of a user and mount namespace of our own."""
    user, group = os.geteuid(), os.getegid()
    call("unshare", NEW_USER | NEW_MOUNTS)
    for name, text in [("setgroups", "deny"), ("uid_map", f"0 {user} 1"), ("gid_map", f"0 {group} 1")]:
        Path("/proc/self", name).write_text(text)


def enter(root, *arguments):
    end = arguments.index("--")
    be_root_inside()
    call("mount", b"none", b"/", None, PRIVATE_ALL, None)
    call("mount", b"own", root.encode(), b"tmpfs", 0, None)
    for source, target in zip(arguments[:end:2], arguments[1:end:2]):
        path = Path(root, target.lstrip("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        if source.startswith("->"):
            path.symlink_to(source[2:])
        elif source == "fifo":
            os.mkfifo(path)
        else:
            shutil.copy(source, path)
    os.chdir(root)
    call("syscall", PIVOT_ROOT, b".", b".")
    call("umount2", b".", DETACH)
    os.chdir("/")
    os.execv(arguments[end + 1], arguments[end + 1:])


if __name__ == "__main__":
    {"cut": cut, "flip": flip, "lease": lease, "enter": enter}[sys.argv[1]](*sys.argv[2:])
