# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A mutating fuzzer (mutate.py) against live runs: stackcount of all system calls, and stacksnoop."""

import os
import re
import shutil
import sys
import time
from collections import Counter
from contextlib import ExitStack, suppress
from pathlib import Path

from attacks import AS_USER, HERE, Grounds, Stranger, chains_of
from hostile_elf import Elf
from tool import GETPPID, PATIENCE_S, STACKSNOOP, Tool, Unaccounted, Workload, workload_path
from processes import WARDEN, helpers

SYSCALLS = "t:raw_syscalls:sys_enter"
SOURCES = ["calls", "calls-pie", "inlined", "liblate-nofp.so", "syscalls-nofp", "usdt", "cxx", "stranger"]
# Names of this run alone, because tests beside it run programs that are called "syscalls" and "fresh".
BYSTANDER, FRESH = f"bystand{os.getpid()}", f"fresh{os.getpid()}"
A_SECOND = 300
# Stacks and rendered events grow up to --max-memory. What else a main process holds must not grow.
BUDGET = ["--max-memory", "32M"]
LARGE_MIB = 256
LARGE_BUDGET = ["--max-memory", f"{LARGE_MIB}M"]
MOST_MIB = 96  # of a main process's own memory, the budget's part included
# Of the bystander's hits, by the run that counts its system call alone, in a large memory. The kernel also skips
# programs while another task is preempted in a map operation on that CPU: as many as the scheduler makes of it.
MOST_LOST = 0.01
SKIPPED = "another BPF program was running on the CPU"


class Fuzz:
    """with Fuzz(seed, seconds) as fuzz: fuzz.run(); fuzz.judge()"""

    def __init__(self, seed, seconds, n_users=2, say=print):
        self.seed, self.seconds, self.n_users, self.say = seed, seconds, n_users, say
        self.pids, self.now = {}, {}
        self.peak = 0

    def __enter__(self):
        with ExitStack() as stack:
            self.grounds = Grounds()
            stack.callback(self.grounds.close)
            n = int(A_SECOND * self.seconds)
            program = shutil.copy(workload_path("syscalls"), self.grounds / BYSTANDER)
            bystander = Workload(program, "getppid", n, n // 2, str(self.seconds))
            self.bystander = stack.enter_context(bystander)
            self.interval = max(0.5, self.seconds / 120)
            both = ["--unwind", "dwarf", "-U", "-f"]
            self.count = stack.enter_context(Tool([*both, *BUDGET, "-P", "--lines", "-i", str(self.interval), SYSCALLS]))
            self.exact = stack.enter_context(Tool([*both, *LARGE_BUDGET, "-P", "-i", str(self.interval), GETPPID]))
            self.snoop = stack.enter_context(Tool([*both, *BUDGET, GETPPID], program=STACKSNOOP))
            for tool in self.tools:
                tool.wait_live()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *what):
        self.stack.close()

    @property
    def tools(self):
        return self.count, self.exact, self.snoop

    def start_users(self):
        for name in ("mutate.py", "hostile_elf.py"):
            shutil.copy(HERE / name, self.grounds.folder)
        sources = [shutil.copy(workload_path(name), self.grounds.folder) for name in SOURCES]
        sources.append(Elf().write(self.grounds / "plain"))
        for i in range(self.n_users):
            folder = self.grounds / f"user{i}"
            folder.mkdir()
            self.grounds.give(folder)
            command = [*AS_USER, sys.executable, "-B", self.grounds / "mutate.py", f"{self.seed}.{i}", folder, *sources]
            self.grounds.processes.append(Stranger(command))

    def look(self):
        """What must hold at any time."""
        for tool in self.tools:
            assert tool.process.poll() is None, f"seed {self.seed}: {tool.so_far()!r}"
            rollup = Path(f"/proc/{tool.pid}/smaps_rollup").read_text()
            self.now[tool.pid] = int(re.search(r"^Anonymous:\s*(\d+)", rollup, re.M)[1]) >> 10
            self.peak = max(self.peak, self.now[tool.pid] - (LARGE_MIB if tool is self.exact else 0))
            with suppress(FileNotFoundError, ProcessLookupError):
                for name, pid in helpers(tool.pid).items():
                    self.pids.setdefault((tool.name, name), set()).add(pid)
            wardens = len(self.pids.get((tool.name, WARDEN), ()))
            assert wardens <= sum(one.name == tool.name for one in self.tools), f"seed {self.seed}: a new warden"
        assert self.peak <= MOST_MIB, f"seed {self.seed}: {self.peak} MiB"

    def run(self):
        self.say(f"seed {self.seed}")
        self.start_users()
        self.bystander.go()
        end, told = time.monotonic() + self.seconds, time.monotonic()
        while time.monotonic() < end:
            self.look()
            time.sleep(0.05)
            if time.monotonic() > told + 30:
                told = time.monotonic()
                self.say(f"{end - told:.0f} s to go: {self.describe()}")
        self.expected = self.bystander.finish()
        self.look()
        self.n_turns = sum(self.end_user(user) for user in self.grounds.processes)

    def end_user(self, user):
        user.process.stdin.close()
        n = int(re.search(rb"turns (\d+)", user.process.stdout.read())[1])
        user.process.wait()
        return n

    def describe(self):
        made = ", ".join(f"{len(pids)} {tool}'s {name}" for (tool, name), pids in sorted(self.pids.items()))
        now = ", ".join(str(self.now[tool.pid]) for tool in self.tools)
        return f"{now} MiB, at most {self.peak} MiB; helpers: {made}"

    def check_helpers(self):
        """
        They are there, and a program that nobody has seen yet gets a table: its stacks become whole. Not at once:
        what users' files left in the queue, and what a parser that died over them holds up, comes first.
        """
        fresh = shutil.copy(workload_path("syscalls-nofp"), self.grounds / FRESH)
        self.fresh = Counter()
        deadline = time.monotonic() + PATIENCE_S
        while not all(chains_of(tool.so_far().out, FRESH) for tool in self.tools):
            assert time.monotonic() < deadline, f"seed {self.seed}: {[tool.so_far() for tool in self.tools]}"
            with Workload(fresh, "getppid", 20, 10) as work:
                for tool in self.tools:
                    tool.drain()
                self.fresh.update(work.run())
            time.sleep(2 * self.interval)  # until it is printed
        for tool in self.tools:
            names = " ".join(helpers(tool.pid))
            assert "opener" in names and "parser" in names, (tool.name, names)

    def end(self, tool):
        begin = time.monotonic()
        result = tool.end().ok()
        self.say(f"{tool.name} ended after {time.monotonic() - begin:.1f} s")
        return result

    def judge(self):
        self.check_helpers()
        everything, exact, snooped = (self.end(tool) for tool in self.tools)
        lost = ", ".join(str(ended.lost) for ended in (everything, exact, snooped))
        self.say(f"{self.n_turns} turns; {self.describe()}; lost: {lost} of {sum(self.expected.values())} and others")
        # The run of all system calls loses millions of hits, and may lose the bystander's: its memory is small.
        n_lost = exact.lost - exact.lost_by(SKIPPED)
        assert n_lost <= MOST_LOST * sum(self.expected.values()), f"seed {self.seed}: {n_lost} lost: {exact.err[-3000:]}"
        for ended in (everything, exact, snooped):
            check_sum(self.seed, chains_of(ended.out, BYSTANDER), self.expected, ended.lost, ended.err)
            check_most(self.seed, chains_of(ended.out, FRESH), self.fresh, ended.err)
        # Stacks of the fresh program that are cut are there, too. (The other run counts all of its system calls.)
        n_fresh = sum(line.startswith(f"{FRESH};") for line in snooped.out.splitlines())
        n_calls = sum(self.fresh.values())
        if not n_fresh <= n_calls <= n_fresh + snooped.lost:
            raise Unaccounted(f"seed {self.seed}: {n_fresh} of {n_calls}")


def check_most(seed, found, expected, err):
    words = f"seed {seed}: {found} of {expected}: {err[-3000:]}"
    assert all(found.get(chain, 0) <= n for chain, n in expected.items()), words


def check_sum(seed, found, expected, lost, err):
    """What is printed and what is lost are all hits."""
    check_most(seed, found, expected, err)
    n_found = sum(found.get(chain, 0) for chain in expected)
    if sum(expected.values()) - n_found > lost:
        raise Unaccounted(f"seed {seed}: {found} of {expected}, {lost} lost: {err[-3000:]}")
