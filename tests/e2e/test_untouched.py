# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A run changes nothing of the programs that it traces but their time: doc/security.md, "What a run does to the machine"."""

import re

import pytest
from tool import GETPPID, Live, stackcount, workload_path

SIGNALS = "kill|tkill|tgkill|pidfd_send_signal|rt_sigqueueinfo|rt_tgsigqueueinfo"
FOREIGN = "ptrace|process_vm_writev|process_madvise|pidfd_getfd"


@pytest.mark.parametrize("is_command", [True, False])
def test_no_process_but_helpers_is_signalled_or_written_to(workload, tmp_path, is_command):
    """Nor attached to by ptrace(2)."""
    log, path = tmp_path / "log", workload_path("syscalls")
    calls = f"trace={SIGNALS},{FOREIGN},execve,openat,open".replace("|", ",")
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
            opened = re.search(r'^open(?:at)?\(.*"/proc/(\d+)/.*O_(?:WRONLY|RDWR)', call)
            assert not re.match(rf"(?:{FOREIGN})\(", call), call
            assert not target or target[1] in ours | {"0"}, call
            assert not opened or opened[1] in ours, call
