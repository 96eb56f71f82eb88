# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What tests of attacks share: an unprivileged user's files and programs, and root's run beside a bystander."""

import os
import re
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import kernel
from tool import GETPPID, Tool, Unaccounted, Workload, read_folded, scaled, user_chain, workload_path

HERE = Path(__file__).parent
USER = 65534
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
SPREAD_S = "0.5"
# A name of this run alone, because suites beside it run programs that are called "syscalls".
BYSTANDER = f"beside{os.getpid()}"


class Grounds:
    """A folder of the user's, with what it runs."""

    def __init__(self):
        where = "/disk" if kernel.has_disk() else "/tmp"
        self.folder = Path(tempfile.mkdtemp(prefix="stackcount-attack-", dir=where))
        for name in ("stranger.py", "mortal_fuse.py"):
            shutil.copy(HERE / name, self.folder)
        shutil.copy(workload_path("stranger"), self.folder)
        self.folder.chmod(0o755)
        self.give(self.folder)
        self.processes = []

    def close(self):
        for process in reversed(self.processes):
            process.close()
        shutil.rmtree(self.folder)

    def give(self, *paths):
        for path in paths:
            os.chown(path, USER, USER)

    def __truediv__(self, name):
        return self.folder / name

    def stranger(self, *args):
        """A workload of the user's."""
        self.processes.append(Stranger([*AS_USER, self / "stranger", "--wait", *args]))
        return self.processes[-1]

    def deed(self, *args):
        """stranger.py, at its work."""
        self.processes.append(Stranger([*AS_USER, sys.executable, "-B", self / "stranger.py", *args]))
        return self.processes[-1]


class Stranger(Workload):
    def __init__(self, command):
        self.start(command, cwd="/")

    def place(self):
        """Until its mappings, or children, are there."""
        self.go()
        self.wait_for("placed")
        return self

    def slow(self):
        """Its file system takes 3 s for each piece that it reads, but not for the stranger (mortal_fuse.py)."""
        self.process.stdin.write(b"slow\n")
        self.wait_for("slow")

    def die(self):
        """Its file system answers no more (mortal_fuse.py)."""
        self.process.stdin.write(b"die\n")
        self.wait_for("dead")


class Run:
    """
    Root's run on the whole system, and a bystander. with Run(...) as run: attack; run.witness(); run.end()
    """

    def __init__(self, *options):
        self.n = scaled(2000, least=200)
        self.tool = Tool(["--unwind", "dwarf", "-U", "-f", "-P", *options, GETPPID])

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory(prefix="stackcount-bystander-")
        program = shutil.copy(workload_path("syscalls"), Path(self.folder.name) / BYSTANDER)
        self.bystander = Workload(program, "getppid", self.n, self.n // 2, SPREAD_S)
        self.tool.__enter__()
        self.tool.wait_live()
        return self

    def __exit__(self, *what):
        self.tool.__exit__(*what)
        self.bystander.close()
        self.folder.cleanup()

    def witness(self):
        """The bystander works."""
        self.expected = self.bystander.run()

    def end(self, strangers=0):
        """Ends it. Every hit of the bystander is there, and so are @strangers of the attackers'."""
        assert self.tool.process.poll() is None, self.tool.so_far()
        result = self.tool.end().ok()
        check_counts(result, self.expected, strangers)
        return result


def chains_of(out, comm):
    """{chain: n} of the programs that are called @comm, in all lines that are whole; "": in other stacks."""
    sums = Counter()
    lines = [line for line in out[: out.rfind("\n") + 1].splitlines(keepends=True) if line.startswith((f"{comm};", f"{comm} "))]
    for parts, n in read_folded("".join(lines)):
        if parts[0] == comm:
            sums[user_chain(parts)] += n
    return sums


def hits_of(result, comm):
    return chains_of(result.out, comm).total()


def check_counts(result, expected, strangers):
    found = {chain: n for chain, n in chains_of(result.out, BYSTANDER).items() if chain in expected}
    by_name = {comm: hits_of(result, comm) for comm in (BYSTANDER, "stranger")}
    missing = sum(expected.values()) - by_name[BYSTANDER] + strangers - by_name["stranger"]
    if any(n > expected[chain] for chain, n in found.items()) or by_name[BYSTANDER] > sum(expected.values()):
        raise Unaccounted(f"{found} of {expected}: {result!r}")
    if by_name["stranger"] > strangers or missing > result.lost:
        raise Unaccounted(f"{by_name}, and {missing} are missing: {result!r}")
    assert result.lost or found == expected, (found, expected, result)


def lines_about(result, *words):
    """Of standard error. No line is said twice."""
    lines = [line for line in result.err.splitlines() if re.search("|".join(words), line)]
    assert len(set(lines)) == len(lines), result
    return lines


def frames_of(result, comm="stranger"):
    """All frames in stacks of programs called @comm."""
    return {part for parts, _ in read_folded(result.out) if parts[0] == comm for part in parts[1:]}
