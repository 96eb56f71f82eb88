# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Kernel stacks walked by the kernel's own tables: each is the one that the kernel's helper gives, word
for word. With --without trust.kernel, the program walks every stack in both ways."""

import os
import re
import socket
import subprocess
import time
from pathlib import Path

import kernel
import pytest
from kernel_walks import BY_TABLES, compare
from tool import GETPPID, STACKCOUNT, STACKSNOOP, Tool, read_folded, scaled

pytestmark = pytest.mark.needs("kernel tables")
newest = pytest.mark.needs("newest kernel")


def call(n):
    for _ in range(n):
        os.getppid()


def send(n):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as a, socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as b:
        b.bind(("127.0.0.1", 0))
        for _ in range(n):
            a.sendto(b"x", b.getsockname())
            b.recv(1)


def do_all(folder):
    """System calls, network, processes, page faults, signals, disk and timers, and interrupts amid them."""
    call(scaled(20000))
    send(scaled(5000, 100))
    for _ in range(scaled(100, 10)):
        subprocess.run(["true"], check=True)
    with open(folder / "file", "wb", buffering=0) as file:
        for _ in range(scaled(100, 10)):
            file.write(b"x" * 4096)
            os.fsync(file.fileno())
    (folder / "file").read_bytes()
    for _ in range(scaled(2000, 100)):
        time.sleep(0.0001)


# Each kernel has tables of its own: from system calls, switches and interrupts, each walks by them. Other code has
# rows like theirs, so one kernel's are enough.
GROUPS = [pytest.param(group, marks=pytest.mark.core) for group in ("syscalls", "sched")]
GROUPS += [pytest.param("irq_vectors", marks=pytest.mark.needs("path of its own")), pytest.param("block ext4", marks=newest)]
GROUPS += [pytest.param("exceptions", marks=pytest.mark.needs("machine"))]


@pytest.mark.thorough
@pytest.mark.parametrize("group", GROUPS)
def test_tracepoints(group, tmp_path):
    events = [f"t:{name}:*" for name in group.split() if kernel.in_tracefs(f"ls -d events/{name}").returncode == 0]
    if not events:
        return  # of a file system or device that this kernel does not have
    folder = Path("/disk") if kernel.has_disk() else tmp_path
    walks = compare(lambda: do_all(folder), *events)
    if group == "syscalls" and not kernel.has_registers_at_system_calls():
        assert walks.whole == 0 and walks.ends["helper: no registers to start with"] > 1000, walks.result
    else:
        walks.check()


@pytest.mark.thorough
@pytest.mark.parametrize("options", [[], ["--without", "kernel.loads"]], ids=["any", "a helper"])
def test_how_the_stack_is_read(options, tmp_path):
    """Kernels before Linux 6.2 have no bpf_rdonly_cast()."""
    walks = compare(lambda: do_all(tmp_path), *options, "t:net:*")
    walks.check()
    (how,) = re.findall("kernel stacks: read by (.*)", walks.result.err)
    assert how == ("a helper" if options or kernel.version() < (6, 2) else "loads"), walks.result


@pytest.mark.needs("kprobe.multi")
@pytest.mark.parametrize("patterns", ["vfs_*", pytest.param("tcp_* udp_* __alloc_*", marks=newest)])
def test_functions_by_one_link(patterns, tmp_path):
    compare(lambda: do_all(tmp_path), *patterns.split()).check()


@pytest.mark.needs("kprobes")
@pytest.mark.parametrize("functions", ["vfs_read", pytest.param("schedule try_to_wake_up", marks=newest)])
def test_a_function_by_a_kprobe(functions, tmp_path):
    compare(lambda: do_all(tmp_path), "--without", "kprobe.multi", *functions.split()).check()


def test_each_hit_counts_once_while_the_walks_begin():
    """The helper walks from the header on, the tables once they are copied."""
    with Tool(["--debug", "-f", "-p", os.getpid(), GETPPID]) as tool:
        tool.wait_for_header()
        n = 0
        while BY_TABLES not in tool.bytes("stderr"):
            call(1000)
            n += 1000
        call(1000)
        result = tool.end().ok()
    assert sum(count for _, count in read_folded(result.out)) == n + 1000 and result.lost == 0, result


@pytest.mark.needs("machine")
@pytest.mark.parametrize("program", [STACKCOUNT, STACKSNOOP])
def test_stacks_cut_by_depth(program):
    options = ["--max-depth", "2"] if program == STACKCOUNT else []
    compare(lambda: send(500), *options, "t:net:net_dev_queue").check(1)


@pytest.mark.needs("kprobes", "way to kernel functions")
def test_a_replaced_return_address_is_left_to_the_helper(machine):
    """A kretprobe's trampoline stands where the caller of ksys_read should. The helper knows the caller."""
    machine.callback(kernel.in_tracefs, "echo 0 >events/walks/below/enable; echo -:walks/below >>kprobe_events")
    define = "echo r:walks/below ksys_read >>kprobe_events && echo 1 >events/walks/below/enable"
    assert kernel.in_tracefs(define).returncode == 0
    walks = compare(lambda: [os.read(os.open("/dev/zero", os.O_RDONLY), 1) for _ in range(50)], "-f", "vfs_read")
    assert walks.ends["helper: a return address replaced by tracing"] >= 50, walks.result
    assert walks.different == 0, walks.result
    top = walks.result.out.splitlines()[-1]
    assert "do_syscall_64" in top and "trampoline" not in top, walks.result
