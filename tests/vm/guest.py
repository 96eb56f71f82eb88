# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A kernel under QEMU's software emulation, and one command run in it.

NVMe and ext4 are built into the three cloud kernels of amd64; the others have an initramfs that loads them. One
controller has the disks as its name spaces; the guest's init links them as /dev/disk-N:

    1  the root file system; changes are thrown away
    2  the tests' disk, at /tests: what is to be run, and 'init', which runs it
    3  a scratch ext4 with a journal, at /disk

The console is the first serial port, what the command prints another one (MACHINES); its last line
is the exit status.

-icount would make the guest's clock follow its instructions, whatever else the host does. On one CPU QEMU 7.2 boots
6.1 so in 10 s of CPU time instead of 12 s. On two it takes 206 s: a CPU that waits for another one leaves it no turn.
"""

import contextlib
import ctypes
import functools
import mmap
import os
import platform
import re
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from cache import Problem, cache_dir, make_ext4, tree_megabytes
from fetch import ROOT_SIGNATURE, architecture, folder, kernel_dir, root_name

STATUS = "guest-exit-status"
BEGUN = "guest-begun"
NMIS = "guest-nmis"  # "guest-nmis 2000", written to $GUEST_PORT, asks for that many of each CPU

INIT = """#!/bin/bash
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export HOME=/root GUEST_PORT=/dev/OUTPUT LANG=C.UTF-8 TERM=dumb PYTHONDONTWRITEBYTECODE=1
mkdir -p /dev/pts /dev/shm
mount -t devpts devpts /dev/pts
mount -t tmpfs shm /dev/shm
mount -t tmpfs run /run
mount -t tmpfs tmp /tmp
mount -t tracefs tracefs /sys/kernel/tracing
mount -t debugfs debugfs /sys/kernel/debug
mount -t bpf bpf /sys/fs/bpf
mount -t ext4 /dev/disk-3 /disk
python3 /tests/loopback.py
echo 1 >/proc/sys/kernel/printk
stty -F /dev/OUTPUT raw -echo
cd /tests
echo BEGUN >/dev/OUTPUT
bash /tests/command </dev/null >/dev/OUTPUT 2>&1
status=$?
echo "STATUS $status" >/dev/OUTPUT
sync
echo o >/proc/sysrq-trigger
sleep 60
"""

# There is no ip(8) in the guest.
LOOPBACK = """import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 1 | 8 | 64))
"""

# One thread for all CPUs of a guest: with one each, a CPU can still run an int3 that another has
# just replaced, which the kernel, patching its own code when a tracer comes, takes for a bug. Two
# guests at a time keep two cores busy all the same.
ACCELERATOR = "tcg,thread=single"


@dataclass
class Machine:
    """What QEMU emulates for guests of one architecture."""

    program: str
    package: str
    kind: str
    cpu: str
    boot: str  # words for the kernel
    output: list  # the serial port of the chardev "out"
    output_name: str  # what the guest calls it


MACHINES = {
    "amd64": Machine(
        program="qemu-system-x86_64",
        package="qemu-system-x86",
        kind="pc",
        # cmpxchg16b makes QEMU 7.2's emulation of 6.12 panic at random; five-level paging is slow. String
        # instructions take a turn of the emulator for each byte or word: the kernel (its bit 112 stands for
        # "rep_good") and libc then copy by plain ones. Without these, 16 tests took 38 s of CPU time, not 56 s.
        cpu="max,la57=off,-cx16,-erms,-fsrm",
        # The ticks of a busy machine are too late for the kernel, which panics. Each look at another clock
        # than the processor's counter leaves emulated code.
        boot="console=ttyS0 no_timer_check clearcpuid=112 tsc=reliable",
        output=["-serial", "chardev:out"],
        output_name="ttyS1",
    ),
    "arm64": Machine(
        program="qemu-system-aarch64",
        package="qemu-system-arm",
        kind="virt",
        # By the architecture's own algorithm, signing return addresses takes most of the time.
        cpu="max,pauth-impdef=on",
        boot="console=ttyAMA0",
        output=["-device", "pci-serial,chardev=out"],
        output_name="ttyS0",
    ),
}

# Without a word. It is longer than a test's own limit, which tells more (tests/e2e/reporting.py).
SILENT_BOOT_S = 120
SILENT_S = 180

NMI_GAP_S = 0.0005


running = set()  # the QEMUs of this program: whoever ends it early ends them


def end_all():
    for qemu in list(running):
        qemu.kill()


READ_COUNTER = bytes.fromhex("0f31 48c1e220 4809d0 c3")  # rdtsc; shl $32, %rdx; or %rdx, %rax; ret


@functools.cache
def counter_khz():
    """Of this processor's counter, which QEMU gives its guests."""
    page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(READ_COUNTER)
    read = ctypes.CFUNCTYPE(ctypes.c_uint64)(ctypes.addressof(ctypes.c_char.from_buffer(page)))

    def look():
        """(counter, ns), read with as little in between as can be had."""
        looks = [(time.monotonic_ns(), read(), time.monotonic_ns()) for _ in range(200)]
        before, counter, after = min(looks, key=lambda look: look[2] - look[0])
        return counter, (before + after) // 2

    begin = look()
    time.sleep(0.2)
    end = look()
    return (end[0] - begin[0]) * 1_000_000 // (end[1] - begin[1])


def words_of_clock(machine):
    """
    For the kernel: on a busy machine it may measure the counter wrongly while it boots. One clock ran 56 times too
    fast, so that each test's time was over at once.
    """
    if machine != MACHINES["amd64"] or platform.machine() != "x86_64":
        return ""
    with contextlib.suppress(OSError, ValueError):  # this machine maps no memory to write to and to execute
        return f" tsc_early_khz={counter_khz()}"
    return ""


class Guest:
    """
    with Guest(kernel, stage) as guest: status = guest.run(command, timeout_s, sink)
    Without a status, guest.why says what ended it, and guest.rest is the line that it had begun.
    """

    def __init__(self, kernel, stage, n_cpus=2, megabytes=2048):
        self.kernel = kernel
        self.machine = MACHINES[architecture(kernel)]
        self.stage = Path(stage)
        self.n_cpus = n_cpus
        self.megabytes = megabytes

    def __enter__(self):
        self.tmp = work_dir("guest")
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.tmp, ignore_errors=True)

    def _write(self, name, text):
        path = self.stage / name
        path.write_text(text)
        path.chmod(0o755)

    def _make_disks(self, command):
        self._write("init", INIT.replace("OUTPUT", self.machine.output_name).replace("STATUS", STATUS).replace("BEGUN", BEGUN))
        self._write("loopback.py", LOOPBACK)
        self._write("command", command + "\n")
        shutil.copytree(kernel_dir(self.kernel) / "modules", self.stage / "modules", dirs_exist_ok=True)
        make_ext4(self.tmp / "tests", tree_megabytes(self.stage), self.stage)
        make_ext4(self.tmp / "scratch", 256, journal=True)

    def _arguments(self, port):
        disks = [
            (folder(root_name(self.kernel)) / "root.disk", ",snapshot=on"),
            (self.tmp / "tests", ""),
            (self.tmp / "scratch", ""),
        ]
        machine = self.machine
        args = [machine.program, "-nodefaults", "-no-reboot", "-display", "none"]
        args += ["-qmp", f"unix:{self.tmp}/qmp,server=on,wait=off"]
        args += ["-accel", ACCELERATOR, "-cpu", machine.cpu, "-machine", machine.kind]
        args += ["-smp", str(self.n_cpus), "-m", str(self.megabytes), "-nic", "none"]
        args += ["-serial", f"file:{self.tmp}/console"]
        args += ["-chardev", f"file,id=out,path=/dev/fd/{port}", *machine.output]
        args += ["-kernel", str(kernel_dir(self.kernel) / "vmlinuz"), "-append"]
        args += [f"{machine.boot}{words_of_clock(machine)} quiet panic=-1 "
                 f"root=PARTUUID={ROOT_SIGNATURE:08x}-01 rw rootwait init=/usr/sbin/init"]
        initramfs = kernel_dir(self.kernel) / "initramfs"
        if initramfs.exists():
            args += ["-initrd", str(initramfs)]
        args += ["-device", "nvme,id=nvme,serial=guest"]
        for i, (path, how) in enumerate(disks, 1):
            args += ["-drive", f"if=none,id=d{i},file={path},format=raw,cache=unsafe{how}"]
            args += ["-device", f"nvme-ns,drive=d{i},bus=nvme,nsid={i}"]
        return args

    def run(self, command, timeout_s, sink):
        """Boot, run @command (bash) and pass each line it prints to @sink. Its exit status, or
        None when there was none: the guest hung, or ended before."""
        self._make_disks(command)
        self.status, self.why, self.rest, self.is_up = None, "", "", False
        self.begin = self.heard = time.monotonic()
        read_end, write_end = os.pipe()
        with open(self.tmp / "qemu.err", "wb") as errors:
            self.qemu = subprocess.Popen(
                self._arguments(write_end),
                stdin=subprocess.DEVNULL,
                stdout=errors,
                stderr=errors,
                pass_fds=[write_end],
            )
        running.add(self.qemu)
        os.close(write_end)
        try:
            self._follow(read_end, timeout_s, sink)
        finally:
            os.close(read_end)
            self.qemu.kill()
            self.qemu.wait()
            running.discard(self.qemu)
        if self.status is None and not self.why:
            self.why = "the guest ended without a status"
        return self.status

    def _follow(self, fd, timeout_s, sink):
        """Until the guest ends, or is to be ended: after @timeout_s or, if that is None, when it is silent for long."""
        text, n_console = b"", 0
        while not self.why and self.status is None:
            now = time.monotonic()
            if select.select([fd], [], [], 1)[0]:
                data = os.read(fd, 1 << 16)
                if not data:
                    return
                self.heard = now
                *lines, text = (text + data).split(b"\n")
                self.rest = text.decode(errors="replace")
                for line in lines:
                    self._take(line.decode(errors="replace") + "\n", sink)
            elif not self.is_up and len(self.console()) > n_console:
                n_console, self.heard = len(self.console()), now
            silent_s = SILENT_S if self.is_up else SILENT_BOOT_S
            if timeout_s is None and now - self.heard > silent_s:
                self.why = f"the guest printed nothing for {silent_s} s" + ("" if self.is_up else " while it booted")
            if timeout_s is not None and now - self.begin > timeout_s:
                self.why = f"the guest did not end in {timeout_s:.0f} s"

    def _take(self, line, sink):
        wanted = re.search(rf"{NMIS} (\d+)", line)
        if wanted:
            threading.Thread(target=self._inject_nmis, args=[int(wanted[1])], daemon=True).start()
        if found := re.match(rf"{STATUS} (\d+)$", line):
            self.status = int(found[1])
        elif line == f"{BEGUN}\n":
            self.is_up = True
        else:
            sink(line)

    def _inject_nmis(self, n):
        """Through QEMU's machine protocol (QMP), whose answers are not looked at: they tell nothing of the guest."""
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as to:
            to.connect(f"{self.tmp}/qmp")
            to.sendall(b'{"execute": "qmp_capabilities"}\n')
            for _ in range(n):
                to.sendall(b'{"execute": "inject-nmi"}\n')
                to.recv(4096)
                time.sleep(NMI_GAP_S)

    def console(self):
        text = ""
        for name in ("console", "qemu.err"):
            path = self.tmp / name
            text += path.read_text(errors="replace") if path.exists() else ""
        return text


def work_dir(what):
    """A new directory in the cache; those of programs that were killed are removed."""
    for old in cache_dir().glob("work.*"):
        if not Path("/proc", old.name.split(".")[1]).exists():
            shutil.rmtree(old, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"work.{os.getpid()}.{what}.", dir=cache_dir()))


def check_host(kernel):
    machine = MACHINES[architecture(kernel)]
    for program, package in ((machine.program, machine.package), ("/sbin/mkfs.ext4", "e2fsprogs")):
        if not shutil.which(program):
            raise Problem(f"no {program} (package {package})")
