# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the running kernel offers, found out without the tool under test."""

import ctypes
import errno
import functools
import os
import shutil
import subprocess
from pathlib import Path

DEVICES = Path("/sys/bus/event_source/devices")
BUILD = Path(os.environ.get("BUILD") or Path(__file__).resolve().parents[2] / "build").resolve()


@functools.cache
def _symbols():
    return Path("/proc/kallsyms").read_bytes()


def has_function(name):
    """Looked for in the text: emulated, a set of 150,000 names takes seconds."""
    return any(f" {name}{end}".encode() in _symbols() for end in "\t\n")


def has_kprobes():
    return (DEVICES / "kprobe").exists()


def has_uprobes():
    return (DEVICES / "uprobe").exists()


def has_kprobe_multi():
    return has_kprobes() and has_function("register_fprobe_ips")


def has_uprobe_multi():
    return has_function("bpf_uprobe_multi_link_attach")


def has_kernel_returns():
    """Since Linux 6.7 the kernel tells how many it missed."""
    return has_kprobes() and version() >= (6, 7)


MOUNT = """
mountpoint -q /sys/kernel/tracing || mount -t tracefs tracefs /sys/kernel/tracing || exit 99
"""
MOUNT_READ_ONLY = MOUNT + "mount -o remount,bind,ro /sys/kernel/tracing || exit 99\n"
UNMOUNT = """
for at in /sys/kernel/tracing /sys/kernel/debug/tracing /sys/kernel/debug; do
	while mountpoint -q $at; do umount -l $at || exit 99; done
done
"""


def with_mounts(script):
    """A wrapper: in a mount name space of its own, changed by the shell script."""
    shell = ["sh", "-c", script + 'exec "$0" "$@"']
    return ["unshare", "-m", "--propagation", "private", *shell]


WITH_TRACEFS = with_mounts(MOUNT)


def in_tracefs(script, *arguments):
    """Run a shell script there."""
    shell = ["sh", "-c", "cd /sys/kernel/tracing; " + script, "sh", *map(str, arguments)]
    return subprocess.run([*WITH_TRACEFS, *shell], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


@functools.cache
def has_locked_list():
    """Even root may not read what ftrace can trace: lockdown."""
    return b"Operation not permitted" in in_tracefs("cat available_filter_functions >/dev/null").stderr


@functools.cache
def has_uprobe_events():
    """Uprobes can be defined in tracefs."""
    return has_uprobes() and in_tracefs("true >>uprobe_events").returncode == 0


def has_disk():
    """A scratch ext4 of its own, as the guests have."""
    return os.path.ismount("/disk")


def is_preempted():
    """Nearly anywhere, by PREEMPT_RT."""
    return "PREEMPT_RT" in os.uname().version


def has_context():
    """Programs can read the kernel's preempt_count: its address is known, and its type."""
    is_known = has_function("__preempt_count") or has_function("pcpu_hot")
    return is_known and Path("/sys/kernel/btf/vmlinux").exists()


def is_guest():
    return "STACKCOUNT_GUEST" in os.environ


def is_first_of_its_processor():
    """The machine, or the guest of another processor than that of the other guests: what no kernel makes a
    difference to is tested once for each."""
    return not is_guest() or is_aarch64()


def is_newest():
    """Here, or in the guest with the newest kernel: what needs kernel functions, or more than this
    machine allows, and no version makes a difference to."""
    return os.environ.get("STACKCOUNT_GUEST", "newest") == "newest"


@functools.cache
def path():
    """What decides which backend serves events of user code."""
    offered = {"uprobes": has_uprobes(), "uprobe.multi": has_uprobe_multi()}
    return ",".join(name for name, has in offered.items() if has)


def has_path_of_its_own():
    """Here, or in a guest whose kernel takes another path than this machine's, which tests/vm/run.py tells."""
    return is_first_of_its_processor() or path() != os.environ.get("STACKCOUNT_MACHINE_PATH")


def has_way_to_kernel_functions():
    """Here, in the guest with the newest kernel, in one that must do without kprobe.multi, and in PREEMPT_RT's,
    whose files are few."""
    return is_newest() or not has_kprobe_multi() or is_preempted()


def version():
    return tuple(map(int, os.uname().release.split("-")[0].split(".")[:2]))


def is_aarch64():
    return os.uname().machine == "aarch64"


# Of system calls.
NUMBERS = {
    "x86_64": {"perf_event_open": 298, "finit_module": 313},
    "aarch64": {"perf_event_open": 241, "finit_module": 273},
}[os.uname().machine]

OPEN_PERF_EVENT = """
import ctypes, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
attributes = struct.pack("IIQ", int(sys.argv[1]), 112, int(sys.argv[2])) + bytes(96)
is_open = libc.syscall(int(sys.argv[3]), attributes, -1, 0, -1, 0) >= 0
raise SystemExit(not is_open and ctypes.get_errno() in (1, 13))
"""


def has_unwinding():
    """By tables."""
    return not is_aarch64()


def has_registers_at_system_calls():
    """The kernel's, at their tracepoints. 6.1 gives the user's; 6.12 is the next one that was tried."""
    return version() >= (6, 12)


def _may_open(wrap, *type_and_config):
    command = ["/usr/bin/python3", "-c", OPEN_PERF_EVENT, *map(str, [*type_and_config, NUMBERS["perf_event_open"]])]
    return subprocess.run([*wrap, *command]).returncode == 0


@functools.cache
def has_32_bit_programs():
    """The kernel may be built or started without them, or end each by a signal."""
    if is_aarch64():
        return False
    try:
        return subprocess.run([BUILD / "workload" / "bits32", "1"]).returncode == 0
    except OSError as e:
        if e.errno != errno.ENOEXEC:
            raise
        return False


def opens_perf_events(wrap=()):
    """May who is made so by the wrapper @wrap open perf events for all processes?"""
    return _may_open(wrap, 1, 9)  # a software event that does nothing


def opens_perf_uprobes(wrap=()):
    """And those that are uprobes? One of no file is refused, too, but for another reason."""
    return opens_perf_events(wrap) and _may_open(wrap, (DEVICES / "uprobe/type").read_text().strip(), 0)


OVERLAY = Path("/tests/modules/overlay.ko")


def load_overlay():
    if "overlay" not in _file_systems():
        with open(OVERLAY, "rb") as file:
            ctypes.CDLL(None).syscall(NUMBERS["finit_module"], file.fileno(), b"", 0)


def _file_systems():
    return Path("/proc/filesystems").read_text().split()


# To what needs one of these, or is marked core, a kernel makes a difference: guests run it.
DIFFERENCES = {
    "path of its own", "way to kernel functions", "newest kernel", "guest", "kprobes", "kprobe.multi", "no kprobes", "no kprobe.multi",
    "kernel returns", "uncounted returns", "kernel tables", "locked list", "modules", "context", "undisturbed maps", "aarch64",
}

NEEDS = {
    "kernel returns": has_kernel_returns,
    "uncounted returns": lambda: has_kprobes() and not has_kernel_returns(),
    "kernel tables": lambda: has_function("__start_orc_unwind"),  # which aarch64's has not
    "aarch64": is_aarch64,
    "machine": is_first_of_its_processor,
    "newest kernel": is_newest,
    "path of its own": has_path_of_its_own,
    "way to kernel functions": has_way_to_kernel_functions,
    "guest": is_guest,
    "locked list": has_locked_list,
    "kprobes": has_kprobes,
    "no kprobes": lambda: not has_kprobes(),
    "kprobe.multi": has_kprobe_multi,
    "no kprobe.multi": lambda: not has_kprobe_multi(),
    "uprobes": has_uprobes,
    "uprobe.multi": has_uprobe_multi,
    "uprobe events": has_uprobe_events,
    "modules": Path("/tests/modules/loop.ko").exists,  # of this kernel, to load, as the guests have them
    "unwinding": has_unwinding,
    "node": lambda: shutil.which("node") is not None,
    "fuse": lambda: "fuse" in _file_systems(),
    # That of this machine, or of a guest's module.
    "overlay": lambda: "fuse" in _file_systems() and ("overlay" in _file_systems() or OVERLAY.exists()),
    "context": has_context,
    # Linux commit c82389947d90 ("tracing: Add sched_prepare_exec tracepoint") (in v6.10).
    "prepared exec": lambda: version() >= (6, 10),
    # Who reads maps is not preempted amid that: until it goes on, the kernel skips that CPU's programs.
    "undisturbed maps": lambda: not is_preempted(),
    "32-bit programs": has_32_bit_programs,
}


def describe():
    offered = [name for name, has in NEEDS.items() if has()]
    return f"kernel {os.uname().release}: {', '.join(offered)}"
