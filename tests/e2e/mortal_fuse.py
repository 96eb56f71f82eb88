# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
mortal_fuse.py HOW DEVICE FOLDER SOURCE COMMAND... - FOLDER/fuse/file, on a file system of ours, is like SOURCE.
Each "{}" of the command becomes its path. It answers until a line comes on our standard input, and then
no more: whoever asks waits, and no signal ends that (state D). After the line "slow" each READ takes 3 s, but
not those of the command. Only the command sees it (mount namespace), and it goes when our input ends.

 root     root mounts it for all, as fusermount(1) does for a user; the command is user 65534's
 private  likewise, but for the user alone: without allow_other, FUSE denies root
 overlay  the user does, in user and mount namespaces of its own, below an overlay. What FUSE denies root
          there (it is another user's), overlayfs permits: it asks as who has mounted it
 dead     the file is FOLDER/file, and the command is root's. It can be found and opened, and whoever reads it waits.
          "exited N" says how the command ended. There is no SOURCE ("-")
 lookup   likewise, and nobody finds it, either
"""

import os
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from stranger import NEW_MOUNTS, PRIVATE_ALL, be_root_inside, call

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 17, 18, 25, 26, 36, 42
UNANSWERED = {"dead": {READ, FLUSH}, "lookup": {READ, FLUSH, LOOKUP}}
ROOT, FILE = 1, 2
FOREVER_S = 3600
ENOENT, ENOSYS = -2, -38
USER = 65534
SLOW_S = 3


class Server(threading.Thread):
    def __init__(self, fuse, contents, unanswered):
        super().__init__(daemon=True)
        self.fuse, self.contents, self.is_dead, self.quick_pid = fuse, contents, False, None
        self.unanswered = unanswered | {FORGET, INTERRUPT, BATCH_FORGET}

    def attributes(self, node):
        n, kind = len(self.contents), stat.S_IFDIR if node == ROOT else stat.S_IFREG
        return struct.pack("<6Q10I", node, n, -(-n // 512), 0, 0, 0, 0, 0, 0, kind | 0o755, 1, 0, 0, 0, 4096, 0)

    def answer(self, what, node, pid, body):
        """Bytes, or an error."""
        if what == INIT:
            return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 12, 12, 65536, 0, 0, 0, *[0] * 8)
        if what == LOOKUP and body == b"file\0":
            return struct.pack("<4Q2I", FILE, 0, FOREVER_S, FOREVER_S, 0, 0) + self.attributes(FILE)
        if what == GETATTR:
            return struct.pack("<Q2I", FOREVER_S, 0, 0) + self.attributes(node)
        if what == OPEN:
            return struct.pack("<Q2I", 7, 0, 0)
        if what == READ:
            time.sleep(SLOW_S if self.quick_pid not in (None, pid) else 0)
            at, n = struct.unpack("<8xQI", body[:20])
            return self.contents[at:at + n]
        if what == STATFS:
            return struct.pack("<5Q4I24x", 9, 0, 0, 9, 0, 4096, 255, 4096, 0)
        return b"" if what == RELEASE else ENOENT if what == LOOKUP else ENOSYS

    def run(self):
        while True:
            request = os.read(self.fuse, 1 << 20)
            n, what, number, node, _, _, pid = struct.unpack("<IIQQ3I", request[:36])
            if self.is_dead or what in self.unanswered:
                continue
            answer = self.answer(what, node, pid, request[40:n])
            data, error = (b"", answer) if isinstance(answer, int) else (answer, 0)
            os.write(self.fuse, struct.pack("<IiQ", 16 + len(data), error, number) + data)


def mount_overlay(folder, lower):
    for name in ("none", "overlay"):
        (folder / name).mkdir(exist_ok=True)
    call("mount", b"over", bytes(folder / "overlay"), b"overlay", 0, f"userxattr,lowerdir={lower}:{folder}/none".encode())
    return folder / "overlay"


def mount(how, device, folder, contents):
    """(its server, its folder)"""
    if how != "overlay":
        call("unshare", NEW_MOUNTS)
    else:
        be_root_inside()
    call("mount", b"none", b"/", None, PRIVATE_ALL, None)
    fuse = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    seen = folder if how in UNANSWERED else folder / "fuse"
    seen.mkdir(exist_ok=True)
    owner = f"user_id={USER},group_id={USER}" if how in ("root", "private") else "user_id=0,group_id=0"
    owner += ",allow_other" if how == "root" or how in UNANSWERED else ""
    call("mount", b"mortal", bytes(seen), b"fuse", 0, f"fd={fuse},rootmode=40000,{owner}".encode())
    server = Server(fuse, contents, UNANSWERED.get(how, set()))
    server.start()
    return server, mount_overlay(folder, seen) if how == "overlay" else seen


def main():
    how, device, folder, source, *command = sys.argv[1:]
    server, seen = mount(how, device, Path(folder), bytes(4096) if how in UNANSWERED else Path(source).read_bytes())
    if how in UNANSWERED:
        print("exited", subprocess.run(command, stdin=subprocess.DEVNULL).returncode, flush=True)
        sys.stdin.read()
        os._exit(0)
    own = [] if how == "overlay" else ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
    child = subprocess.Popen([*own, *(word.replace("{}", f"{seen}/file") for word in command)], stdin=subprocess.PIPE)
    # A line for the command, or for us.
    for line in sys.stdin:
        if line == "die\n":
            server.is_dead = True
            print("dead", flush=True)
        elif line == "slow\n":
            server.quick_pid = child.pid
            print("slow", flush=True)
        else:
            child.stdin.write(line.encode())
            child.stdin.flush()
    child.kill()
    os._exit(0)


main()
