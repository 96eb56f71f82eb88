# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""An initramfs for kernels that have their disk's driver and file system as modules: it loads these, mounts
the guest's first disk and goes on from there."""

import gzip
import re

# Modules that a kernel asks for as it runs, which nobody does for it here.
CRYPTO = ["crc32c_generic", "crct10dif_common", "crct10dif_generic"]
WANTED = [*CRYPTO, "nvme", "ext4"]

INIT = """#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in $(cat /modules/order); do
	insmod /modules/$module.ko || echo "cannot load $module"
done
until [ -b "$root" ]; do
	for block in /sys/block/nvme*n*; do
		[ "$(cat $block/nsid)" = 1 ] && root=/dev/${block##*/}p1
	done
	usleep 100000
done
mkdir -p /newroot
mount -t ext4 $root /newroot
exec switch_root /newroot /usr/sbin/init
"""


def depends_of(module):
    """The names of the modules that the bytes of one say it needs."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    return found[1].decode().replace("-", "_").split(",") if found and found[1] else []


def in_order(read, wanted):
    """{name: bytes} of @wanted and what they need, each behind what it needs; @read(name): bytes, or None."""
    order = {}

    def add(name):
        module = None if name in order else read(name)
        if module is None:
            return  # it is there, or built in
        for other in depends_of(module):
            add(other)
        order[name] = module

    for name in wanted:
        add(name)
    return order


def entry(name, mode, data=b"", number=0):
    """One file of a cpio archive of the kind "newc"."""
    path = name.encode() + b"\0"
    fields = [number, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(path), 0]
    head = b"070701" + b"".join(b"%08x" % field for field in fields) + path
    return head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4)


def make(read, busybox):
    """The archive, compressed. @busybox: the bytes of a static one."""
    modules = in_order(read, WANTED)
    folders = ["bin", "dev", "proc", "sys", "modules"]
    files = [("init", 0o100755, INIT.encode()), ("bin/busybox", 0o100755, busybox)]
    files += [(f"modules/{name}.ko", 0o100644, module) for name, module in modules.items()]
    files.append(("modules/order", 0o100644, "\n".join(modules).encode()))
    entries = [entry(name, 0o040755, number=i) for i, name in enumerate(folders, 1)]
    entries += [entry(*file, number=i) for i, file in enumerate(files, len(folders) + 1)]
    return gzip.compress(b"".join(entries) + entry("TRAILER!!!", 0), 1)
