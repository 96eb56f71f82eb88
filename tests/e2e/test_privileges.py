# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the main process gives up once it counts, and what no run does to others (doc/security.md)."""

import os
import re

import pytest
from processes import statuses
from tool import FUNCCOUNT, GETPPID, STACKCOUNT, STACKSNOOP, Live, build, read_folded, stackcount, wait_until, workload_path

# BPF, PERFMON, IPC_LOCK, SYS_ADMIN, SYSLOG, SYS_PTRACE
KEPT = sum(1 << number for number in (39, 38, 14, 21, 34, 19))


def has_few_privileges(status):
    masks = {name: int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
    few = KEPT & masks["CapPrm"]
    return (masks == {"CapInh": 0, "CapPrm": few, "CapEff": few, "CapBnd": 0, "CapAmb": 0}
            and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2")


@pytest.mark.parametrize("program, command", [
    (STACKCOUNT, []), (STACKSNOOP, []), (FUNCCOUNT, []), pytest.param(STACKCOUNT, ["--", "sleep", "1000"], marks=pytest.mark.thorough),
])
def test_every_thread_has_few_privileges_while_it_counts(program, command):
    with Live([GETPPID, *command], program=program) as tool:
        wait_until(lambda: all(map(has_few_privileges, statuses(tool.pid))), "some thread has more")
        tool.end().ok()


def test_a_command_has_all_privileges():
    result = stackcount("-f", GETPPID, "--", "cat", "/proc/self/status").ok()
    own = statuses(os.getpid())[0]
    command = dict(re.findall(r"^(\w+):\s*(.*)$", result.out, re.M))
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp"):
        assert command[name] == own[name], name


SIGNALS = "kill|tkill|tgkill|pidfd_send_signal|rt_sigqueueinfo|rt_tgsigqueueinfo"
FOREIGN = "ptrace|process_vm_writev|process_madvise|pidfd_getfd"


@pytest.mark.parametrize("is_command", [True, False])
def test_no_process_but_helpers_is_signalled_or_written_to(workload, tmp_path, is_command):
    """Nor attached to by ptrace(2)."""
    log, path = tmp_path / "log", workload_path("syscalls")
    calls = f"trace={SIGNALS},{FOREIGN},execve,openat,openat2,open".replace("|", ",")
    strace = ("strace", "-f", "-y", "--seccomp-bpf", "-o", log, "-e", calls)
    if is_command:
        stackcount("-U", "-f", GETPPID, "--", path, "--quiet", "getppid", 100, 0, wrap=strace).ok()
    else:
        work = workload("syscalls", "getppid", 100, 0)
        with Live(["-U", "-f", "-n", 100, "-p", work.pid, GETPPID], wrap=strace) as tool:
            work.run()
            tool.wait().ok()
    lines = [line.split(maxsplit=1) for line in log.read_text(errors="replace").splitlines()]
    commands = {pid for pid, call in lines if call.startswith(f'execve("{path}"')}
    assert len(commands) == is_command, lines
    ours = {pid for pid, _ in lines} - commands
    for pid, call in lines:
        if pid in ours:
            target = re.match(rf"(?:{SIGNALS})\((?:\d+<pid:)?(\d+)>?, (?!0\))", call)  # 0 asks whether it is there
            opened = re.search(r'^open(?:at2?)?\(.*"/proc/(\d+)/.*O_(?:WRONLY|RDWR)', call)
            assert not re.match(rf"(?:{FOREIGN})\(", call), call
            assert not target or target[1] in ours | {"0"}, call
            assert not opened or opened[1] in ours, call


UNTOUCHED = """
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>
static int status;
static void *other(void *unused) { for (int i = 0; i < 50; i++) getppid(), usleep(10000); _exit(status); }
int main(void) {
	struct epoll_event event;
	pthread_t thread;
	status = epoll_wait(epoll_create1(0), &event, 1, 1500) != 0;
	pthread_create(&thread, 0, other, 0);
	pthread_exit(0);
}
"""


def test_a_command_is_not_interrupted_and_outlives_its_first_thread(tmp_path):
    """A signal, or a stop, would end its epoll_wait(2) with EINTR, and might leave it stopped."""
    result = stackcount("-U", "-f", GETPPID, "--", build(tmp_path / "untouched", UNTOUCHED, "-pthread")).ok()
    assert "exited with status 0" in result.err and sum(n for _, n in read_folded(result.out)) == 50, result
