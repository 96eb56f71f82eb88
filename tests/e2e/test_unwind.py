# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""User stacks by unwind tables: whole, down to where the process or thread began, though the
programs have no frame pointers."""

import os
import re
import resource
import shutil
import subprocess
import time
from contextlib import suppress

import pytest
from snoop import live_snoop
from tool import GETPPID, PATIENCE_S, Tool, chains, check_own, own_copy, read_folded, scaled
from tool import stackcount, trace, workload_path
from unwinding import DWARF, check_whole, needs_unwinding

pytestmark = needs_unwinding


@pytest.mark.core
def test_a_system_call(workload):
    n = scaled(50_000)
    work = workload("syscalls-nofp", "getppid", n, n // 2, cpus=[0, 1])
    result, expected = trace(work, *DWARF, "-U", "-f", "-p", work.pid, GETPPID)
    assert check_whole(result) == expected


def test_a_system_call_when_each_rule_is_looked_up(workload):
    work = workload("syscalls-nofp", "getppid", 1000, 500, cpus=[0, 1])
    looked_up = ("--without", "rules.recent")
    result, expected = trace(work, *DWARF, *looked_up, "-U", "-f", "-p", work.pid, GETPPID)
    assert check_whole(result) == expected


@pytest.mark.core
@pytest.mark.needs("uprobes")
def test_a_user_function(workload):
    n = scaled(20_000)
    work = workload("calls-nofp", n, n // 2, 100, cpus=[0, 1])
    leaves = [f"{workload_path('calls-nofp')}:{name}" for name in ("leaf", "leaf_bare")]
    result, expected = trace(work, *DWARF, "-f", "-p", work.pid, *leaves)
    assert check_whole(result) == expected


@pytest.mark.core
@pytest.mark.needs("kprobes", "way to kernel functions")
def test_a_kernel_function(workload):
    work = workload("syscalls-nofp", "priority", 1000, 500)
    result, expected = trace(work, *DWARF, "-d", "-f", "-p", work.pid, "__x64_sys_getpriority")
    assert check_whole(result) == expected


@pytest.mark.core
@pytest.mark.needs("path of its own")
def test_through_the_frames_of_signals(workload):
    """Also from another stack, that may lie above the one that was interrupted."""
    work = workload("signals-nofp", 100, 50)
    result, expected = trace(work, *DWARF, "-U", "-f", "-p", work.pid, GETPPID)
    found = check_whole(result)
    without_return = {re.sub(r";[^;]*;on_signal", ";on_signal", chain): n for chain, n in found.items()}
    assert without_return == expected, result


@pytest.mark.core
@pytest.mark.needs("path of its own")
def test_a_process_that_was_there_before_is_known(workload, tmp_path):
    """Without -p all processes are looked at, in the background. Nothing is guessed."""
    own = own_copy("syscalls-nofp", tmp_path)
    work = workload(own, "getppid", 1000, 500)
    result, expected = trace(work, *DWARF, "-U", "-P", "-f", GETPPID)
    check_own(result, chains(result.ok(), own.name), expected)


EXIT_GROUP = "t:syscalls:sys_enter_exit_group"
WHOLE = r"true\d+;(?!\[cut).*;_[eE]xit 1"


@pytest.mark.needs("path of its own")
def test_programs_that_end_at_once_are_whole_when_their_file_is_known(tmp_path):
    """By the kernel's own mappings: the tool is too late to look at any of them."""
    n = scaled(200, least=50)
    own = shutil.copy("/bin/true", tmp_path / f"true{os.getpid()}")
    deadline = time.monotonic() + PATIENCE_S
    with live_snoop(*DWARF, "-U", "-f", EXIT_GROUP) as tool:
        while not re.search(rf"^{WHOLE}$".encode(), tool.bytes("stdout"), re.M):
            assert time.monotonic() < deadline, tool.so_far()
            subprocess.run([own], check=True)
        for _ in range(n):
            subprocess.run([own], check=True)
        result = tool.end().ok()
    is_whole = [bool(re.fullmatch(WHOLE, line)) for line in result.out.splitlines() if line.startswith(f"{own.name};")]
    since = is_whole[is_whole.index(True) :]
    assert len(since) > n - result.lost and all(since), result


@pytest.mark.parametrize("event, has_stack", [
    pytest.param("t:task:task_rename", False, marks=pytest.mark.needs("path of its own")),
    pytest.param("t:sched:sched_prepare_exec", True, marks=pytest.mark.needs("prepared exec")),
])
def test_a_program_that_starts_another_has_its_stack_until_its_memory_goes(event, has_stack):
    """When it is given its name, the memory is its own, and the registers are those of its maker's call."""
    script = "for i in $(seq 20); do /bin/true; done; :"
    result = stackcount(*DWARF, "-U", "-P", "-f", event, "--", "sh", "-c", script).ok()
    lines = read_folded(result.out)
    assert sum(hits for _, hits in lines) == 21 and result.lost == 0, result  # seq's, too
    for parts, _ in lines:
        assert len(parts) > 4 and parts[-1] == "execve" if has_stack else len(parts) == 1, result
        assert not any(part.startswith("[cut") for part in parts), result


@pytest.mark.core
@pytest.mark.needs("path of its own")
def test_constructors_of_libraries():
    """They run before the program's own first instruction, and what they are walked by is there."""
    result = stackcount(*DWARF, "-U", "-f", GETPPID, "--", workload_path("first")).ok()
    ((parts, n),) = read_folded(result.out)
    assert n == 10 and result.lost == 0 and "exited with status 0" in result.err, result
    assert parts[-2:] == ["first_constructor", "first_hit"], result
    assert len(parts) >= 4 and not parts[0].startswith("[cut"), result  # the dynamic linker's, below


def test_a_command_is_whole_with_as_few_descriptors_as_are_asked_for():
    """Names need most of them: these come behind tables. Hits wait for no table, which a busy machine may make too late."""
    code = "import ctypes, os\nos.getppid()\nos.write(2, b'ready\\n')\ninput()\nfor _ in range(200): os.getppid()"
    command = ["/usr/bin/python3", "-c", code]

    def run(limit):
        few = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))  # noqa: E731
        with Tool([*DWARF, "-U", "-f", GETPPID, "--", *command], stdin=subprocess.PIPE, preexec_fn=few) as tool:
            with suppress(AssertionError):  # it may be refused
                tool.wait_for("stderr", rb"^ready$")
                tool.drain()
                tool.process.stdin.write(b"\n")
                tool.process.stdin.close()
            return tool.wait()

    limit = 8
    while asked := re.search(rf"the limit of open files is {limit}; this run needs (\d+) \(see ulimit -Hn\)", (result := run(limit)).err):
        assert result.status == 1 and result.stdout == b"" and int(asked[1]) > limit, result
        limit = int(asked[1])
    whole = sum(count for parts, count in read_folded(result.ok().out) if parts[0] == "_start")
    assert 200 <= whole <= 201, result
