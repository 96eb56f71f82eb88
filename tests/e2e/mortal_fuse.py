# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
mortal_fuse.py HOW DEVICE FOLDER SOURCE COMMAND... - FOLDER/fuse/file, on a file system of ours, is like SOURCE.
Each "{}" of the command becomes its path. It answers until a line comes on our standard input, and then
no more: whoever asks waits, and no signal ends that (state D). After the line "slow" each READ takes 3 s, but
not those of the command.
Everything goes when the input ends.

 root     root mounts it for all, as fusermount(1) does for a user; the command is user 65534's
 private  likewise, but for the user alone: without allow_other, FUSE denies root
 overlay  the user does, in user and mount namespaces of its own, below an overlay. What FUSE denies root
          there (it is another user's), overlayfs permits: it asks as who has mounted it
"""

import os
import stat
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

import dead_fuse
from dead_fuse import BATCH_FORGET, FILE, FOREVER_S, FORGET, GETATTR, INTERRUPT, LOOKUP, NEW_NAMESPACE, PRIVATE_ALL, READ, ROOT, call
from stranger import be_root_inside

STATFS, RELEASE = 17, 18
ENOENT, ENOSYS = -2, -38
USER = 65534
SLOW_S = 3


class Server(threading.Thread):
    def __init__(self, fuse, contents):
        super().__init__(daemon=True)
        self.fuse, self.contents, self.is_dead, self.quick_pid = fuse, contents, False, None

    def attributes(self, node):
        if node == ROOT:
            return dead_fuse.attributes(node)
        n = len(self.contents)
        return struct.pack("<6Q10I", node, n, -(-n // 512), 0, 0, 0, 0, 0, 0, stat.S_IFREG | 0o755, 1, 0, 0, 0, 4096, 0)

    def answer(self, what, node, pid, body):
        if what == LOOKUP and body != b"file\0":
            return None, ENOENT
        if what == LOOKUP:
            return struct.pack("<4Q2I", FILE, 0, FOREVER_S, FOREVER_S, 0, 0) + self.attributes(FILE), 0
        if what == GETATTR:
            return struct.pack("<Q2I", FOREVER_S, 0, 0) + self.attributes(node), 0
        if what == READ:
            time.sleep(SLOW_S if self.quick_pid not in (None, pid) else 0)
            at, n = struct.unpack("<8xQI", body[:20])
            return self.contents[at:at + n], 0
        if what == STATFS:
            return struct.pack("<5Q4I24x", 9, 0, 0, 9, 0, 4096, 255, 4096, 0), 0
        if what == RELEASE:
            return b"", 0
        data = dead_fuse.answer_to(what, node)
        return data, ENOSYS if data is None else 0

    def run(self):
        while True:
            request = os.read(self.fuse, 1 << 20)
            n, what, number, node, _, _, pid = struct.unpack("<IIQQ3I", request[:36])
            if self.is_dead or what in (FORGET, INTERRUPT, BATCH_FORGET):
                continue
            data, error = self.answer(what, node, pid, request[40:n])
            os.write(self.fuse, struct.pack("<IiQ", 16 + len(data or b""), error, number) + (data or b""))


def mount_overlay(folder, lower):
    for name in ("none", "overlay"):
        (folder / name).mkdir(exist_ok=True)
    call("mount", b"over", bytes(folder / "overlay"), b"overlay", 0, f"userxattr,lowerdir={lower}:{folder}/none".encode())
    return folder / "overlay"


def main():
    how, device, folder, source, *command = sys.argv[1:]
    folder = Path(folder)
    contents = Path(source).read_bytes()
    if how != "overlay":
        call("unshare", NEW_NAMESPACE)
    else:
        be_root_inside()
    call("mount", b"none", b"/", None, PRIVATE_ALL, None)
    fuse = os.open(device, os.O_RDWR | os.O_CLOEXEC)
    seen = folder / "fuse"
    seen.mkdir(exist_ok=True)
    owner = "user_id=0,group_id=0" if how == "overlay" else f"user_id={USER},group_id={USER}"
    owner += ",allow_other" if how == "root" else ""
    call("mount", b"mortal", bytes(seen), b"fuse", 0, f"fd={fuse},rootmode=40000,{owner}".encode())
    server = Server(fuse, contents)
    server.start()
    if how == "overlay":
        seen = mount_overlay(folder, seen)
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
