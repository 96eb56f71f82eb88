# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is different on aarch64: signed return addresses, first instructions that the kernel does not
probe, stacks of which a part is in registers, and no unwind tables yet."""

import pytest
from tool import GETPPID, STACKCOUNT, STATIC, Live, chains, read_folded, stackcount, trace, workload_path

pytestmark = pytest.mark.needs("aarch64")

BEGINS = workload_path("begins")
CANNOT = "the kernel cannot probe its first instruction"
MISTAKES = "the kernel would mistake its first instruction for another one"


@pytest.mark.parametrize(
    "name,program", [("calls-cet", STACKCOUNT), ("calls-pie", STACKCOUNT), ("calls-pie", STATIC)],
    ids=["signed", "plain", "static"],
)
def test_stacks_are_whole(workload, name, program):
    """Where the CPU signs return addresses, too; the guest's does."""
    work = workload(name, 30, 20, 10)
    args = ["-U", "-f", "-p", work.pid, f"{workload_path(name)}:leaf*"]
    result, expected = trace(work, *args, program=program)
    assert chains(result.ok()) == {**expected, "main;work_run;run;leafy": 1}, result
    assert all(parts[0] == "_start" for parts, _ in read_folded(result.out)), result


def test_a_function_is_counted_and_still_right(workload):
    """The workload ends at the first wrong result, and then says nothing."""
    work = workload("begins", 20)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, f"{BEGINS}:b_*")
    assert len(expected) == 7 and chains(result.ok()) == expected, result
    assert "5 of 12 could not be traced" in result.err


@pytest.mark.parametrize(
    "function,why",
    [("literal", MISTAKES), ("vector", MISTAKES), ("exclusive", CANNOT), ("svc", CANNOT), ("autiasp", CANNOT)],
)
def test_an_instruction_that_the_kernel_does_not_probe_is_refused(function, why):
    """Also where no process has the file mapped: there the kernel takes the probe, and never sets it."""
    result = stackcount("-D", "1", f"{BEGINS}:b_refused_{function}")
    assert result.status == 1 and result.stdout == b"", result
    assert result.err.startswith(f"stackcount: attach b_refused_{function}: {why} ({BEGINS}+0x"), result


def test_the_first_frame_of_a_new_program_is_its_own():
    """Registers of a system call, which execution has left nevertheless."""
    result = stackcount("-U", "-f", "-s", "t:syscalls:sys_exit_execve", "--", "/bin/true").ok()
    ((parts, n),) = read_folded(result.out)
    assert n == 1 and parts[-1].startswith("_start"), result


def test_the_first_frame_at_a_tracepoint_is_there_once():
    """The kernel's helper gives it twice."""
    with Live(["-K", "-f", "-D", "1", "t:sched:sched_switch"]) as tool:
        lines = read_folded(tool.wait().ok().out)
    assert lines
    for parts, _ in lines:
        assert parts[-1].startswith("__schedule") and parts[-1] not in parts[:-1], parts


def test_unwind_tables_are_refused():
    result = stackcount("--unwind", "dwarf", GETPPID)
    assert result.status == 2 and result.stdout == b"", result
    assert result.err.startswith("stackcount: --unwind dwarf: no unwind tables on aarch64 yet, only frame pointers (fp)\n")
