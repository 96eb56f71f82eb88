# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
dead_fuse.py [--lookup] FOLDER COMMAND... - run a command where FOLDER/file is on a file system that does not answer.

The file can be found and opened. Whoever reads it waits, and no signal ends that. With --lookup nobody finds it, either. Only this command sees
the file system (mount namespace). "exited N" says how it ended. The file system goes when our standard
input ends.
"""

import ctypes
import os
import stat
import struct
import subprocess
import sys
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, FLUSH, INIT, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 25, 26, 36, 42
UNANSWERED = [READ, FLUSH, FORGET, INTERRUPT, BATCH_FORGET]
ROOT, FILE = 1, 2
NEW_NAMESPACE, PRIVATE_ALL = 0x20000, 1 << 14 | 1 << 18
FOREVER_S = 3600

libc = ctypes.CDLL(None, use_errno=True)


def call(name, *arguments):
    if getattr(libc, name)(*arguments) != 0:
        raise OSError(ctypes.get_errno(), name)


def attributes(node):
    mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
    return struct.pack("<6Q10I", node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def answer_to(what, node):
    if what == INIT:
        return struct.pack("<4I2H2I2H8I", 7, 31, 65536, 0, 12, 12, 65536, 0, 0, 0, *[0] * 8)
    if what == LOOKUP:
        return struct.pack("<4Q2I", FILE, 0, FOREVER_S, FOREVER_S, 0, 0) + attributes(FILE)
    if what == GETATTR:
        return struct.pack("<Q2I", FOREVER_S, 0, 0) + attributes(node)
    if what == OPEN:
        return struct.pack("<Q2I", 7, 0, 0)
    return None


def serve(fuse):
    while True:
        _, what, number, node = struct.unpack("<IIQQ", os.read(fuse, 1 << 20)[:24])
        if what in UNANSWERED:
            continue
        data = answer_to(what, node)
        error = 0 if data is not None else -38  # ENOSYS
        os.write(fuse, struct.pack("<IiQ", 16 + len(data or b""), error, number) + (data or b""))


def main():
    if sys.argv[1] == "--lookup":
        UNANSWERED.append(LOOKUP)
        del sys.argv[1]
    folder, *command = sys.argv[1:]
    call("unshare", NEW_NAMESPACE)
    call("mount", b"none", b"/", None, PRIVATE_ALL, None)
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
    options = f"fd={fuse},rootmode=40000,user_id=0,group_id=0,allow_other"
    call("mount", b"dead", folder.encode(), b"fuse", 0, options.encode())
    threading.Thread(target=serve, args=(fuse,), daemon=True).start()
    status = subprocess.run(command, stdin=subprocess.DEVNULL).returncode
    print("exited", status, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
