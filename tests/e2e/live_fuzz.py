"""A mutating fuzzer (mutate.py) against live runs: stackcount of all system calls, and stacksnoop."""

import re
import shutil
import sys
import time
from contextlib import ExitStack, suppress
from pathlib import Path

from attacks import AS_USER, END_S, HERE, Grounds, Stranger
from hostile_elf import Elf
from snoop import folded_chains
from test_arms_length import helpers
from tool import GETPPID, STACKSNOOP, Tool, Workload, chains, workload_path

SYSCALLS = "t:raw_syscalls:sys_enter"
SOURCES = ["calls", "calls-pie", "inlined", "liblate-nofp.so", "syscalls-nofp", "usdt", "cxx", "stranger"]
A_SECOND = 300
MOST_MIB = 96  # of the main process's own memory


class Fuzz:
    """with Fuzz(seed, seconds) as fuzz: fuzz.run(); fuzz.judge()"""

    def __init__(self, seed, seconds, n_users=2, say=print):
        self.seed, self.seconds, self.n_users, self.say = seed, seconds, n_users, say
        self.pids, self.peak = {}, 0

    def __enter__(self):
        with ExitStack() as stack:
            self.grounds = Grounds()
            stack.callback(self.grounds.close)
            n = int(A_SECOND * self.seconds)
            bystander = Workload("syscalls", "getppid", n, n // 2, str(self.seconds))
            self.bystander = stack.enter_context(bystander)
            interval = str(max(0.5, self.seconds / 120))
            count = ["--unwind", "dwarf", "-U", "-f", "--lines", "-i", interval, SYSCALLS]
            self.count = stack.enter_context(Tool(count))
            self.snoop = stack.enter_context(Tool(["--unwind", "dwarf", "-U", "-f", GETPPID], program=STACKSNOOP))
            for tool in self.tools:
                tool.wait_live()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *what):
        self.stack.close()

    @property
    def tools(self):
        return self.count, self.snoop

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
            self.peak = max(self.peak, int(re.search(r"^Anonymous:\s*(\d+)", rollup, re.M)[1]) >> 10)
            with suppress(FileNotFoundError, ProcessLookupError):
                for name, pid in helpers(tool.pid).items():
                    self.pids.setdefault((tool.name, name), set()).add(pid)
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
        return f"at most {self.peak} MiB; helpers: {made}"

    def check_helpers(self):
        """They are there, and a program that nobody has seen yet has a table: its stacks are whole."""
        fresh = shutil.copy(workload_path("syscalls-nofp"), self.grounds / "fresh")
        with Workload(fresh, "getppid", 200, 100) as work:
            for tool in self.tools:
                tool.wait_looked()
                tool.wait_idle()
            self.fresh = work.run()
        for tool in self.tools:
            names = " ".join(helpers(tool.pid))
            assert "opener" in names and "parser" in names, (tool.name, names)

    def judge(self):
        self.check_helpers()
        result, snooped = (tool.end(timeout_s=2 * END_S).ok() for tool in self.tools)
        expected = {**self.expected, **{chain: n + self.expected.get(chain, 0) for chain, n in self.fresh.items()}}
        self.say(f"{self.n_turns} turns; {self.describe()}; lost: {result.lost} and {snooped.lost}")
        check_sum(self.seed, chains(result), expected, result.lost, result.err)
        # Its table may come late where users' files keep the unwinder busy: then stacks of the fresh program are cut.
        of_fresh = [line for line in snooped.out.splitlines() if line.startswith("fresh;")]
        others = "".join(f"{line}\n" for line in snooped.out.splitlines() if not line.startswith("fresh;"))
        check_sum(self.seed, folded_chains(others)[0], self.expected, snooped.lost, snooped.err)
        n_fresh = sum(int(line.rsplit(" ", 1)[1]) for line in of_fresh)
        assert n_fresh <= sum(self.fresh.values()) <= n_fresh + snooped.lost, f"seed {self.seed}: {of_fresh}"


def check_sum(seed, found, expected, lost, err):
    """What is printed and what is lost are all hits."""
    found = {chain: found.get(chain, 0) for chain in expected}
    words = f"seed {seed}: {found} of {expected}, {lost} lost: {err[-3000:]}"
    assert all(found[chain] <= n for chain, n in expected.items()), words
    assert sum(expected.values()) - sum(found.values()) <= lost, words
