# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A tracer as a process: start it, wait until it is live, watch it, end it by Ctrl-C."""

import os
import re
import select
import signal
import time
from contextlib import suppress
from pathlib import Path

HEADER = rb"Tracing (\d+) functions for"
DEVNULL = os.open(os.devnull, os.O_RDWR)


class Failed(Exception):
    """The message of a tracer that did not start or count."""


def spawn(argv, stdin=DEVNULL, stdout=DEVNULL, stderr=DEVNULL, env=None):
    """Start a process by posix_spawn(3): subprocess would add to the time of a start."""
    actions = [(os.POSIX_SPAWN_DUP2, fd, n) for n, fd in enumerate((stdin, stdout, stderr))]
    return os.posix_spawn(
        argv[0], [str(a) for a in argv], env or os.environ, file_actions=actions,
        setsigmask=[], setsigdef=[signal.SIGINT, signal.SIGPIPE],
    )


def wait_for_end(pid, timeout):
    """The exit status, or None after @timeout seconds."""
    fd = os.pidfd_open(pid)
    ended, _, _ = select.select([fd], [], [], timeout)
    os.close(fd)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) if ended else None


def field(pid, file, pattern):
    """A number of /proc/PID/FILE; 0 once the process is gone."""
    try:
        found = re.search(pattern, Path(f"/proc/{pid}/{file}").read_text(), re.M)
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(found[1]) if found else 0


def descriptors(pid):
    """The links of its descriptors, without those that it closes meanwhile."""
    links = []
    with suppress(FileNotFoundError, ProcessLookupError):
        for entry in os.scandir(f"/proc/{pid}/fd"):
            with suppress(FileNotFoundError):
                links.append(os.readlink(entry.path))
    return links


def cpu_s(pid):
    """CPU time of all its threads so far, without those that have ended."""
    total = 0
    with suppress(FileNotFoundError, ProcessLookupError):
        for entry in os.scandir(f"/proc/{pid}/task"):
            with suppress(FileNotFoundError, ProcessLookupError):
                total += int(Path(entry.path, "schedstat").read_text().split()[0])
    return total / 1e9


class Watch:
    """The peaks of a process, read every few milliseconds until its end."""

    def __init__(self, pid):
        self.pid, self.peak, self.files, self.user, self.system = pid, 0, 0, 0, 0

    def __call__(self):
        """MiB, MiB, seconds, seconds"""
        tick = os.sysconf("SC_CLK_TCK")
        after_name = r"\) \S(?: \S+){%d} (\d+)"
        self.peak = max(self.peak, field(self.pid, "status", r"^VmHWM:\s*(\d+)") / 1024)
        self.files = max(self.files, field(self.pid, "status", r"^RssFile:\s*(\d+)") / 1024)
        self.user = max(self.user, field(self.pid, "stat", after_name % 10) / tick)
        self.system = max(self.system, field(self.pid, "stat", after_name % 11) / tick)

    def until_end(self, timeout=120):
        """The exit status."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            self()
            status = wait_for_end(self.pid, 0.005)
            if status is not None:
                return status
        raise Failed(f"not ended after {timeout} s")


class Tracer:
    """with Tracer(argv, marker) as t: t.live_s is the time from exec to @marker (a regular
    expression) on standard output or error; the output goes to the file @out if given."""

    def __init__(self, argv, marker=HEADER, out=None, env=None, timeout=60):
        self.argv, self.marker, self.out, self.env, self.timeout = argv, marker, out, env, timeout
        self.text = b""

    def __enter__(self):
        stdin, self.stdin = os.pipe2(os.O_CLOEXEC)
        if self.out:
            write = os.open(self.out, os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_CLOEXEC, 0o644)
            self.read = os.open(self.out, os.O_RDONLY | os.O_CLOEXEC)
        else:
            self.read, write = os.pipe2(os.O_CLOEXEC)
        begin = time.monotonic_ns()
        self.pid = spawn(self.argv, stdin, write, write, self.env)
        os.close(stdin)
        os.close(write)
        try:
            found = self.wait_for(self.marker)
        except Failed:
            self.end(kill=True)
            raise
        self.live_s = (time.monotonic_ns() - begin) / 1e9
        self.found = found
        return self

    def wait_for(self, marker):
        """Read on until the whole output has @marker."""
        deadline = time.monotonic() + self.timeout
        while not (found := re.search(marker, self.text)):
            left = deadline - time.monotonic()
            if left < 0 or not select.select([self.read], [], [], left)[0]:
                raise Failed(f"{self.argv[0]}: not live after {self.timeout} s")
            part = os.read(self.read, 1 << 16)
            self.text += part
            if part:
                continue
            if not self.out or not Path(f"/proc/{self.pid}/fd/1").exists():
                words = self.text.decode(errors="replace").strip().splitlines() or ["no words"]
                raise Failed(f"{os.path.basename(self.argv[0])}: {words[-1]}")
            time.sleep(0.002)
        return found

    def status(self, field):
        """A number from /proc/PID/status; 0 once the process is gone."""
        try:
            text = Path(f"/proc/{self.pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return 0
        found = re.search(rf"^{field}:\s*(\d+)", text, re.M)
        return int(found[1]) if found else 0

    def map_bytes(self):
        """Kernel memory of all BPF maps that the process holds."""
        total = 0
        with suppress(FileNotFoundError, ProcessLookupError):
            for entry in os.scandir(f"/proc/{self.pid}/fdinfo"):
                with suppress(FileNotFoundError):
                    text = Path(entry.path).read_text()
                    if "map_type" in text:
                        total += int(re.search(r"^memlock:\s*(\d+)", text, re.M)[1])
        return total

    def stop(self, timeout=60, watch=None):
        """End it by Ctrl-C. Returns the seconds to the exit, or None after @timeout. If the output goes
        to a file, @watch is called every few milliseconds."""
        begin = time.monotonic_ns()
        os.kill(self.pid, signal.SIGINT)
        os.close(self.stdin)
        self.stdin = -1
        while not self.out and (part := self._read_until(begin / 1e9 + timeout)):
            self.text += part
        self.exit_status = None
        while self.exit_status is None and time.monotonic() < begin / 1e9 + timeout:
            if watch:
                watch()
            self.exit_status = wait_for_end(self.pid, 0.005 if watch else timeout)
        taken = (time.monotonic_ns() - begin) / 1e9
        if self.exit_status is None:
            return None
        self.pid = 0
        return taken

    def _read_until(self, deadline):
        ready, _, _ = select.select([self.read], [], [], max(0, deadline - time.monotonic()))
        return os.read(self.read, 1 << 16) if ready else b""

    def end(self, kill):
        if self.stdin >= 0:
            os.close(self.stdin)
        if self.pid and kill:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        os.close(self.read)

    def __exit__(self, *_):
        self.end(kill=True)


def counts(text):
    """The counts that stackcount or funccount printed."""
    return [int(n) for n in re.findall(rb"^(?:   |\S.*) (\d+)$", text, re.M)]
