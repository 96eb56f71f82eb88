# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Running the tools and the workloads, with every wait bounded and every process ended."""

import contextlib
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

from folded import parse_line

TOP = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("BUILD") or TOP / "build").resolve()
STACKCOUNT = str(BUILD / "stackcount")
STACKSNOOP = str(BUILD / "stacksnoop")
FUNCCOUNT = str(BUILD / "funccount")
STATIC = str(BUILD / "static" / "stackcount")

# In a guest everything takes ten times as long, and counts are divided.
IN_GUEST = "STACKCOUNT_GUEST" in os.environ
SCALE = float(os.environ.get("STACKCOUNT_SCALE", "1"))
# How long to wait for an event that must come, on a busy machine.
PATIENCE_S = 120
DRAIN_S = 10  # where nobody reads the output, it is never drained

# What leads to a workload's run(): see tests/workload/work.h.
ROOTS = ("main", "work_thread")

CRASHES = {signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE}
SANITIZED = re.compile(rb"^==\d+==ERROR: \w+Sanitizer: |: runtime error: ", re.M)
LIVE = re.compile(rb'^(Tracing \d+ functions? for |Sampling at |TIME\(s\) ).*\n', re.M)


def scaled(n, least=1000):
    """@n on this machine, less in a guest; always even."""
    return max(least, int(n * SCALE)) // 2 * 2


def workload_path(name):
    return str(BUILD / "workload" / name)


def build(path, source, *options, language="c"):
    """Returns @path, a program or library of the text @source."""
    command = ["gcc", f"-x{language}", "-", "-xnone", *options, "-o", path]
    subprocess.run(command, input=source, text=True, check=True, timeout=PATIENCE_S)
    return path


def wait_until(is_so, what="nothing happens"):
    """What @is_so() gives, as soon as that is something. @what, or what it gives, says what did not come."""
    deadline = time.monotonic() + PATIENCE_S
    while not (found := is_so()):
        assert time.monotonic() < deadline, what() if callable(what) else what
        time.sleep(0.01)
    return found


class Unaccounted(AssertionError):
    """Hits that are neither printed nor told as lost, or both: no load of the machine excuses that."""


class Crashed(AssertionError):
    """The tool was ended by a signal for which it is to blame, or a sanitizer has found something."""


class Result:
    """What a run left behind."""

    def __init__(self, command, stdout, stderr, status):
        self.command = command
        self.stdout = stdout
        self.stderr = stderr
        self.status = status
        self.out = stdout.decode("utf-8", "surrogateescape")
        self.err = stderr.decode("utf-8", "surrogateescape")

    def __repr__(self):
        return (
            f"{' '.join(self.command)}\nstatus {self.status}\n"
            f"--- stdout\n{self.out[-3000:]}\n--- stderr\n{self.err[-3000:]}"
        )

    def ok(self):
        assert self.status == 0, self
        return self

    @property
    def lost(self):
        """Hits that the run says it lost, of all reports."""
        found = re.findall(r"^(?:\w+: )?Lost (\d+) hits?(?: \([\d.]+%\))?: ", self.out + "\n" + self.err, re.M)
        return sum(map(int, found))

    @property
    def lost_records(self):
        """Of processes: who is behind hits, and what their frames are called, may not be known then."""
        return sum(map(int, re.findall(r"^\w+: lost (\d+) process records", self.err, re.M)))

    def lost_by(self, reason):
        """Those of them that were lost by that reason."""
        lines = re.findall(r"^(?:\w+: )?Lost \d+ hits?(?: \([\d.]+%\))?: (.*)$", self.out + "\n" + self.err, re.M)
        return sum(int(n) for line in lines for n in re.findall(rf"(\d+) {re.escape(reason)}", line))


ended = []  # the results of the tools that a test has run


class Tool:
    """
    A tool at work: with Tool([...]) as tool: tool.wait_live(); ...; tool.end()
    With reads_later nobody reads its standard output until read_now(). By --ready-fd it says that it
    counts, that the tables of what runs are made, and when all that was hit before is stored.
    """

    walk = ()  # how user stacks are walked where it is not said: @pytest.mark.walk("fp")

    def __init__(self, args, program=STACKCOUNT, wrap=(), reads_later=False, **popen):
        self.args = [str(arg) for arg in args]
        if program != FUNCCOUNT and "--unwind" not in self.args:
            self.args = [*self.walk, *self.args]
        self.name = os.path.basename(program)
        self._may_read = {"stdout": threading.Event(), "stderr": threading.Event()}
        self._may_read["stderr"].set()
        if not reads_later:
            self.read_now()
        self._chunks = {"stdout": [], "stderr": []}
        self._seen = threading.Condition()
        popen.setdefault("stdin", subprocess.DEVNULL)
        self._is_ready = False
        self._sent = set()
        self.parent, ready = socket.socketpair()
        try:
            self.process = subprocess.Popen(
                [*wrap, program, "--ready-fd", str(ready.fileno()), *self.args],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, pass_fds=[ready.fileno()], **popen
            )
        finally:
            ready.close()
        # Each reads a copy: what wraps the tool may outlive it, and the number of a closed one be given to another test's.
        self._readers = [
            threading.Thread(target=self._read, args=(name, os.dup(getattr(self.process, name).fileno())), daemon=True)
            for name in self._chunks
        ]
        for reader in self._readers:
            reader.start()

    def read_now(self):
        self._may_read["stdout"].set()

    def _read(self, name, fd):
        self._may_read[name].wait()
        while True:
            data = os.read(fd, 1 << 16)
            with self._seen:
                if data:
                    self._chunks[name].append(data)
                self._seen.notify_all()
            if not data:
                os.close(fd)
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.read_now()
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for reader in self._readers:
            reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()
        self.parent.close()
        self._check_crash()

    @property
    def pid(self):
        return self.process.pid

    def bytes(self, name):
        with self._seen:
            return b"".join(self._chunks[name])

    def wait_for(self, name, pattern, timeout_s=PATIENCE_S):
        """Until standard output or error, by @name, matches the bytes pattern."""
        self._wait_until(lambda: re.search(pattern, self.bytes(name), re.M), pattern, timeout_s)

    def _wait_until(self, is_so, what, timeout_s):
        deadline = time.monotonic() + timeout_s
        while not is_so():
            assert time.monotonic() < deadline, f"no {what!r} in {timeout_s} s: {self.so_far()!r}"
            self._check_running(what)
            with self._seen:
                self._seen.wait(0.02)

    def _draining(self):
        return any(reader.is_alive() for reader in self._readers)

    def _check_running(self, until):
        if self.process.poll() is None or self._draining():
            return
        ended.append(self.so_far())
        self._check_crash()
        raise AssertionError(f"ended before {until!r}: {self.so_far()!r}")

    def so_far(self):
        command = [self.name, *self.args]
        return Result(command, self.bytes("stdout"), self.bytes("stderr"), self.process.poll())

    def wait_live(self, timeout_s=PATIENCE_S):
        """Wait until it counts (the header), and until the tables of running processes are made."""
        if self._is_ready:
            return self
        deadline = time.monotonic() + timeout_s
        self.wait_for_header(timeout_s)
        self.wait_for_line(max(deadline - time.monotonic(), 0))
        self._is_ready = True
        return self

    def wait_for_line(self, timeout_s):
        """From --ready-fd: it is ready, or answers."""
        self.parent.settimeout(timeout_s)
        try:
            said = self.parent.recv(1)
        except OSError as error:  # TimeoutError, ConnectionResetError
            said = error
        if said != b"\n":
            with suppress(subprocess.TimeoutExpired):  # if it is dying
                self.process.wait(1)
            self._check_running("it was ready or had drained")
        assert said == b"\n", f"{said!r}: neither ready nor drained: {self.so_far()!r}"

    def drain(self, timeout_s=PATIENCE_S):
        """Until all that was hit, and all that processes did, before this call is stored; of stacksnoop: printed."""
        self.wait_live(timeout_s)
        self.parent.send(b"?")
        self.wait_for_line(timeout_s)

    def wait_for_header(self, timeout_s=PATIENCE_S):
        """Wait until every probe is in place. It may still read running processes."""
        self._wait_until(lambda: LIVE.search(self.bytes("stdout")) or LIVE.search(self.bytes("stderr")), "header", timeout_s)
        return self

    def n_perf_events(self):
        """That it holds open now; other descriptors come and go meanwhile."""
        count = 0
        for link in Path(f"/proc/{self.pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                count += "perf_event" in os.readlink(link)
        return count

    def send(self, number):
        self._sent.add(number)
        self.process.send_signal(number)

    def _check_crash(self):
        """A wrapper that has not become the tool gives 128 and the signal's number."""
        status = self.process.returncode
        ended_by = -status if status < 0 else status - 128
        if ended_by in CRASHES - self._sent or SANITIZED.search(self.bytes("stderr")):
            raise Crashed(f"{self.so_far()!r}")

    def wait(self, timeout_s=PATIENCE_S):
        try:
            self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"did not end in {timeout_s} s: {self.so_far()!r}") from None
        for reader in self._readers:
            reader.join(10)
        ended.append(self.so_far())
        self._check_crash()
        return ended[-1]

    def end(self, number=signal.SIGINT, timeout_s=PATIENCE_S):
        """A signal leaves stacksnoop a moment only, however much it has to print: so that comes first."""
        if self.name == "stacksnoop" and self.process.poll() is None:
            with contextlib.suppress(AssertionError, OSError):
                self.drain(DRAIN_S)
        self.send(number)
        return self.wait(timeout_s)


def check_refused(result, status, *words, lines=1):
    """Nothing on standard output, and so many @lines of the tool's own on standard error, with @words (expressions)."""
    assert result.status == status and result.stdout == b"", result
    assert result.err.startswith(f"{result.command[0]}: "), result
    assert lines is None or len(result.err.splitlines()) == lines, result
    for word in words:
        assert re.search(word, result.err), f"nothing like {word!r} in: {result.err}"


class Live(Tool):
    """It counts when the with statement begins, and the tables of running processes are made."""

    def __enter__(self):
        try:
            return self.wait_live()
        except BaseException:
            self.__exit__()
            raise


def stackcount(*args, timeout_s=PATIENCE_S, **popen):
    """A run that ends by itself."""
    with Tool(args, **popen) as tool:
        return tool.wait(timeout_s)


def stacksnoop(*args, **popen):
    return stackcount(*args, program=STACKSNOOP, **popen)


def wait_until_full(pid):
    """Until its standard output, a pipe, takes nothing more."""
    with open(f"/proc/{pid}/fd/1", "wb", buffering=0) as pipe:
        wait_until(lambda: not select.select([], [pipe], [], 0)[1], "the pipe is not full")


def wait_until_taken(pid):
    """Until the tool sleeps or has ended, and no signal waits for it: what it does at a signal is done."""

    def is_so():
        waiting = int(re.search(r"^ShdPnd:\t(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1], 16)
        return not waiting and Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "SZ"

    wait_until(is_so, "a signal is not taken")


class Workload:
    """A program that waits to be told to go, works, says what it did, and waits again."""

    def __init__(self, name, *args, cpus=None, options=()):
        command = [workload_path(name), "--wait", *options]
        if cpus:
            command += ["--cpus", ",".join(map(str, cpus))]
        self.start([*command, *args])

    def start(self, command, **popen):
        self.process = subprocess.Popen([*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, **popen)
        self._buffer = b""
        self.said = []
        self.wait_for("ready")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        return self.process.pid

    def _read_line(self, deadline):
        """The next line, None at the end. Not readline(): select() does not see what that keeps."""
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self.process.stdout], [], [], max(deadline - time.monotonic(), 0))
            assert ready, f"workload: nothing more is said after {self.said[-3:]}"
            data = os.read(self.process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line.decode("utf-8", "surrogateescape")

    def wait_for(self, what):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            line = self._read_line(deadline)
            assert line is not None, f"workload ended before '{what}'"
            if line.startswith(what):
                return
            self.said.append(line)

    def go(self):
        """Start the work, or its next part."""
        self.process.stdin.write(b"\n")
        return self

    def finish(self):
        """Until the work is done. Returns {chain: count} as the workload says it."""
        self.wait_for("done")
        return {
            line.rpartition(" ")[0]: int(line.rpartition(" ")[2])
            for line in self.said
            if ";" in line
        }

    def run(self):
        self.go()
        return self.finish()

    def close(self):
        if self.process.poll() is None:
            self.process.stdin.close()
            try:
                self.process.wait(PATIENCE_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self.process.stdout.close()


def read_folded(text):
    """[(parts, count)] of folded output, line by line; nothing but stack lines may be there."""
    assert text == "" or text.endswith("\n"), f"the last line is cut: {text[-80:]!r}"
    lines = []
    for number, line in enumerate(text.split("\n")[:-1], 1):
        parts, count = parse_line(line, number)
        lines.append((list(parts), count))
    return lines


def user_chain(parts):
    """The part of a folded stack that is the workload's own, '' if there is none."""
    if "-" in parts:
        parts = parts[: parts.index("-")]
    for root in ROOTS:
        if root in parts:
            return ";".join(parts[parts.index(root) :])
    return ""


def chains(result, comm=None):
    """{chain from the workload's root on: count} of folded output; with @comm, of one with -P, those of that name."""
    sums = Counter()
    for parts, count in read_folded(result.out):
        chain = user_chain(parts)
        if chain and comm in (None, parts[0]):
            sums[chain] += count
    return dict(sums)


def own_copy(name, folder, as_name="own"):
    """A copy of a workload that no other run of these tests executes. Its file's name is that of its processes."""
    return shutil.copy(workload_path(name), Path(folder) / f"{as_name}{os.getpid()}")


def ending(expected, *functions):
    """Of what a workload did, what ends in one of @functions and happened at all."""
    return {
        chain: count
        for chain, count in expected.items()
        if count and chain.split(";")[-1] in functions
    }


def trace(workload, *args, end=True, program=STACKCOUNT):
    """Attach, let the workload do all its work, end. Returns (result, what it did)."""
    with Tool(args, program=program) as tool:
        tool.wait_live()
        expected = workload.run()
        return (tool.end() if end else tool.wait()), expected


def check_account(result, made, printed=None, most=None):
    """Each hit that was made, up to @most that were, is printed or told as lost. @printed: by default, the sum of folded
    output."""
    if printed is None:
        printed = sum(count for _, count in read_folded(result.ok().out))
    if not made <= printed + result.lost <= (made if most is None else most):
        raise Unaccounted(f"{printed} printed + {result.lost} lost, of {made} made: {result!r}")


def check_own(result, found, expected):
    """
    Of programs of our own, amid others that are traced, too: {chain: hits}. What is missing may be among the hits that
    are told as lost; nothing else is there. Where records of processes were lost, as a busy machine may have it, hits
    may be there without a name.
    """
    unnamed = sum(n for chain, n in found.items() if chain not in expected)
    missing = sum(expected.values()) - sum(found.values())
    is_too_much = missing < 0 or any(found.get(chain, 0) > n for chain, n in expected.items())
    if is_too_much or ((unnamed or missing > result.lost) and not result.lost_records):
        raise Unaccounted(f"{found}, of {expected}, {result.lost} lost: {result!r}")


GETPPID = "t:syscalls:sys_enter_getppid"
