#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""bench/run.py [--rounds N] [--events N] [--only PART[,...]] [--vm] [--against PROGRAM] - what stackcount costs.

Measures stackcount, programs that do the least possible ('floors', built from this folder) and the
peers that are installed. They run in turns, and the table has medians. Needs root. There is no verdict:
the table marks goals that are not met. 'make bench' builds and runs all, and writes the table to
build/bench/table.md, too. Parts: getppid udp two funccount stacksnoop start
end names following named deferred walking unwinding budget libc size; --vm adds many kernel functions, in a guest.
--against compares with another build of stackcount instead, turn by turn.
"""

import argparse
import ctypes
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.dont_write_bytecode = True

import against  # noqa: E402
import calls  # noqa: E402
import events  # noqa: E402
import following  # noqa: E402
import functions  # noqa: E402
import lifetime  # noqa: E402
import named  # noqa: E402
import names  # noqa: E402
import snoop  # noqa: E402
import tables  # noqa: E402
import unwinding  # noqa: E402
from table import Table  # noqa: E402

TOP = Path(__file__).resolve().parents[1]
CLONE_NEWNS = 0x20000
PR_SET_CHILD_SUBREAPER = 36
MS_PRIVATE_REC = 1 << 18 | 0x4000


class Setup:
    """The paths of programs, and the options."""

    def __init__(self, args, tmp):
        self.top = TOP
        self.build = Path(os.environ.get("BUILD") or TOP / "build").resolve()
        self.bench = self.build / "bench"
        if not (self.build / "stackcount").exists() or not (self.bench / "load").exists():
            sys.exit(f"bench: no programs in {self.build}: 'make all bench-programs' builds them")
        self.tmp = Path(tmp)
        self.rounds, self.events, self.against = args.rounds, args.events, args.against
        # Copy the program: a build at the same time must not change it.
        self.stackcount = self.tmp / "stackcount"
        shutil.copy(self.build / "stackcount", self.stackcount)
        self.funccount = self.tmp / "funccount"
        self.funccount.symlink_to("stackcount")
        self.stacksnoop = self.tmp / "stacksnoop"
        self.stacksnoop.symlink_to("stackcount")
        self.notes = []

    def progress(self, text):
        print(text, file=sys.stderr, flush=True)

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)
            self.progress(text)


def mount_tracefs():
    """Mount tracefs for floors and peers, in a mount namespace of our own."""
    libc = ctypes.CDLL(None, use_errno=True)
    if os.path.isdir("/sys/kernel/tracing/events"):
        return
    if (
        libc.unshare(CLONE_NEWNS)
        or libc.mount(b"none", b"/", None, MS_PRIVATE_REC, None)
        or libc.mount(b"tracefs", b"/sys/kernel/tracing", b"tracefs", 0, None)
    ):
        sys.exit(f"bench: mount tracefs: {os.strerror(ctypes.get_errno())}")


def inherit_orphans():
    """Inherit the processes that a tracer leaves behind, to wait for their end."""
    if ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        sys.exit("bench: prctl")


def machine():
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    load = " ".join(f"{x:.1f}" for x in os.getloadavg())
    versions = []
    for argv in (["bpftrace", "--version"], ["perf", "--version"]):
        if shutil.which(argv[0]):
            done = subprocess.run(argv, capture_output=True, text=True)
            versions.append(done.stdout.strip())
    return (f"{model[1] if model else platform.machine()}, {os.cpu_count()} CPUs, "
            f"Linux {platform.release()}, load {load}; {', '.join(versions)}")


PARTS = {
    "getppid": lambda s, t: events.per_event(s, t, "getppid", s.events, events.GETPPID),
    "udp": lambda s, t: events.per_event(s, t, "udp", s.events // 2, events.UDP),
    "two": events.two_cpus,
    "funccount": calls.per_call,
    "start": lifetime.start,
    "end": lifetime.end,
    "budget": lifetime.budget,
    "libc": lifetime.user_functions,
    "size": lifetime.size,
    "stacksnoop": snoop.stacksnoop,
    "tables": tables.tables,
    "names": names.names,
    "following": following.following,
    "named": named.named,
    "deferred": unwinding.deferred,
    "walking": unwinding.walking,
    "unwinding": unwinding.unwinding,
}


def parse_arguments():
    parser = argparse.ArgumentParser(usage=__doc__.split(" - ", 1)[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--events", type=int, default=100000)
    parser.add_argument("--only", default=",".join(PARTS))
    parser.add_argument("--vm", action="store_true")
    parser.add_argument("--against", type=Path)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    return parser.parse_args()


def measure(setup, args):
    parts = args.only.split(",") if args.only else []
    steps = [PARTS.get(part) for part in parts] + [functions.kernel_functions] * args.vm
    for part in parts:
        if part not in PARTS:
            sys.exit(f"bench: no part '{part}' (there are: {' '.join(PARTS)})")
    text = head = machine()
    mount_tracefs()
    inherit_orphans()
    table = Table()
    for step in [against.against] if args.against else steps:
        step(setup, table)
        text = f"{head}\n\n{table.text()}"
        if setup.notes:
            text += "\n" + "".join(f"- {note}\n" for note in setup.notes)
        (setup.bench / "table.md").write_text(text)
    print(text, end="")


def main():
    args = parse_arguments()
    if os.geteuid() != 0:
        sys.exit("bench: tracing needs root")
    with tempfile.TemporaryDirectory(prefix="bench.") as tmp:
        setup = Setup(args, tmp)
        if args.inside:
            functions.inside(setup)
            return
        measure(setup, args)


if __name__ == "__main__":
    main()
