"""What the running kernel offers, found out without the tool under test."""

import functools
import os
from pathlib import Path

DEVICES = Path("/sys/bus/event_source/devices")


@functools.cache
def _functions():
    with open("/proc/kallsyms", errors="replace") as lines:
        return {line.split()[2] for line in lines}


def has_kprobes():
    return (DEVICES / "kprobe").exists()


def has_uprobes():
    return (DEVICES / "uprobe").exists()


def has_kprobe_multi():
    return has_kprobes() and "register_fprobe_ips" in _functions()


def has_uprobe_multi():
    return "bpf_uprobe_multi_link_attach" in _functions()


def has_no_kprobes():
    return not has_kprobes()


def has_disk():
    """A scratch ext4 of its own, as the guests have."""
    return os.path.ismount("/disk")


def has_modules():
    """Kernel modules of this kernel to load, as the guests have."""
    return Path("/tests/modules/loop.ko").exists()


def has_speed():
    """Not emulated: lengths of time mean something."""
    return "STACKCOUNT_GUEST" not in os.environ


def has_function(name):
    return name in _functions()


def is_machine():
    """Not a guest: what no kernel makes a difference to is tested once, here."""
    return "STACKCOUNT_GUEST" not in os.environ


def has_syscall_stacks():
    """Kernel stacks at system call tracepoints: Linux 5.10 hands the user's registers to the walk,
    which then gives nothing. 6.1 is the next one that was tried."""
    return tuple(map(int, os.uname().release.split("-")[0].split(".")[:2])) >= (6, 1)


NEEDS = {
    "system call stacks": has_syscall_stacks,
    "machine": is_machine,
    "kprobes": has_kprobes,
    "no kprobes": has_no_kprobes,
    "kprobe.multi": has_kprobe_multi,
    "uprobes": has_uprobes,
    "uprobe.multi": has_uprobe_multi,
    "disk": has_disk,
    "modules": has_modules,
    "speed": has_speed,
}


def describe():
    offered = [name for name, has in NEEDS.items() if has()]
    return f"kernel {os.uname().release}: {', '.join(offered)}"
