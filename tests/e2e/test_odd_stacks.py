# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""
By unwind tables through what is not a plain call in a plain program; and where a walk has to end
before the root, that is said, and nothing is made up.
"""

import ctypes
import os
import re
import struct
import subprocess
import time
from collections import Counter
from contextlib import contextmanager
from pathlib import Path

import programs
import pytest
from kernel import DEVICES
from snoop import live_snoop
from tool import GETPPID, STACKSNOOP, Live, Tool, Workload, build, chains, read_folded, stackcount, trace, workload_path

pytestmark = pytest.mark.needs("unwinding")

DWARF = ("--unwind", "dwarf", "-U", "-f")
LATE, NEXT = workload_path("liblate-nofp.so"), workload_path("libnext-nofp.so")
LIBC = ctypes.CDLL(None, use_errno=True)


# --- ways to a frame ---

FROM_MAIN = ["realigned", "realigned_far", "forked", "tail"]
OWN_STACK = ["in_coroutine", "in_clone"]


def ways(result):
    """{(the words before, what follows them): hits}"""
    found = Counter()
    for parts, n in read_folded(result.ok().out):
        at = next(i for i, part in enumerate(parts) if part in ("main", *OWN_STACK))
        before = parts[0] if parts[0].startswith("[cut") else at
        found[before, ";".join(parts[at:])] += n
    return found


def check_ways(how, expected):
    result = stackcount(*DWARF, GETPPID, "--", workload_path(f"ways-{how}"), "--quiet", 50)
    assert result.lost == 0 and ways(result) == expected, result


@pytest.mark.parametrize("how", ["nofp", "static"])
def test_each_way(how):
    """Its root is behind three frames of libc's; of a stack of its own, behind one."""
    expected = {(3, f"main;work_run;run;{name};hit"): 50 for name in FROM_MAIN}
    expected |= {(1, f"{name};hit"): 50 for name in OWN_STACK}
    check_ways(how, expected)


def test_what_was_put_on_the_stack_without_a_call_is_named_at_its_first_byte():
    result = stackcount(*DWARF, GETPPID, "--", workload_path("signals-static"), "--quiet", 50, 20)
    assert "__restore_rt;on_signal;hit" in {";".join(parts[-3:]) for parts, _ in read_folded(result.ok().out)}, result


def test_each_way_with_a_libc_without_unwind_tables():
    """musl has some for assembly alone; rows of its C code are made from its instructions."""
    expected = {(2, f"main;work_run;run;{name};hit"): 50 for name in FROM_MAIN}
    check_ways("musl", expected | {(1, "in_clone;hit"): 50})


# --- creation of threads and processes ---

MAKERS = ("by_thread", "by_spawn", "by_fork")
MAKING = ("t:syscalls:sys_enter_clone3", "t:syscalls:sys_enter_clone", "t:task:task_newtask", "t:sched:sched_process_fork")


def test_who_makes_threads_and_processes():
    """No entry of glibc's is about its clone() behind the system call: parent and child stand there."""
    result = stackcount(*DWARF, *MAKING, "--", workload_path("makers-nofp"), "--quiet", 20).ok()
    found = Counter()
    for parts, n in read_folded(result.out):
        at = parts.index("run")
        assert parts[0] == "_start" and parts[at - 2 : at] == ["main", "work_run"] and len(parts) > at + 2, result
        found[parts[at + 1]] += n
    assert result.lost == 0 and found == dict.fromkeys(MAKERS, 3 * 20), result


def test_a_child_on_a_stack_of_its_own_has_no_caller():
    """It comes back from the system call with nothing on it; but that of fork() with all of its parent's."""
    result = stackcount(*DWARF, "t:syscalls:sys_exit_clone3", "--", workload_path("makers-nofp"), "--quiet", 20).ok()
    alone = [(parts, n) for parts, n in read_folded(result.out) if len(parts) == 1]
    assert len(alone) == 1 and alone[0][1] == 2 * 20, result


# struct io_uring_params: no sizes; a thread that looks for requests (SQPOLL), on no CPU of its own, for 1 ms.
SQPOLL = struct.pack("<5I100x", 0, 0, 2, 0, 1)


@pytest.mark.needs("path of its own")
def test_threads_of_the_kernels_own_have_no_user_stack():
    """io_uring's are of the process, and have a copy of their maker's registers."""
    with Live(["--unwind", "dwarf", "-d", "-f", "-p", os.getpid(), "t:sched:sched_switch"]) as tool:
        for _ in range(5):
            ring = LIBC.syscall(425, 4, ctypes.create_string_buffer(SQPOLL, len(SQPOLL)))  # io_uring_setup(2)
            assert ring >= 0, os.strerror(ctypes.get_errno())
            time.sleep(0.01)
            os.close(ring)
        lines = read_folded(tool.end().ok().out)
    found = [parts for parts, _ in lines if "io_sq_thread" in parts]
    assert found and all(parts[0] == "-" for parts in found), lines


# --- where nobody has called ---


@pytest.mark.needs("uprobes")
def test_a_part_of_a_function_that_is_jumped_to(workload):
    """Its frame was made before: what lies on top of the stack is no return address."""
    work = workload("entries-nofp", 20)
    result, _ = trace(work, *DWARF, "-p", work.pid, f"{workload_path('entries-nofp')}:cold_part")
    ((parts, n),) = read_folded(result.ok().out)
    assert n == 20 and parts[0] == "_start" and parts[-4:] == ["main", "work_run", "run", "cold_part"], parts


def test_a_signal_at_the_end_of_a_system_call(workload):
    """The second of two finds the program at the first one's handler, which has not begun."""
    work = workload("entries-nofp", 20)
    result, _ = trace(work, *DWARF, "-p", work.pid, "t:signal:signal_deliver", program=STACKSNOOP)
    lines = [parts[1:] for parts, n in read_folded(result.ok().out) for _ in range(n)]
    first = [parts for parts in lines if "on_signal" not in parts]
    second = [parts for parts in lines if parts[-1] == "on_signal"]
    assert len(first) == len(second) == 20 and len(lines) == 40, result
    assert all(parts[0] == "_start" and parts[-1 - parts[::-1].index("run")] == "run" for parts in lines), result
    assert all("two_at_once" in parts for parts in second), result


# --- what comes and goes ---


def test_libraries_that_take_turns_at_one_place(workload):
    """However fast: none is walked by the table of the one before. Once both are known, all are whole."""
    work = workload("swap-nofp", LATE, NEXT, 5, 1000)
    with live_snoop(*DWARF, "-p", work.pid, GETPPID) as tool:
        work.go().wait_for("swapped")
        tool.drain()
        work.go()
        expected = work.finish()
        result = tool.end().ok()
    is_cut, names = Counter(), Counter()
    for (_, *parts), n in read_folded(result.out):
        assert parts[0].startswith(("[cut: no ", "[cut: too many ")) or parts[-3] == "run", (parts, result)
        is_cut[parts[0].startswith("[cut")] += n
        names[parts[-1]] += n
    total = sum(expected.values())
    assert is_cut.total() == total and is_cut[False] > 0, (is_cut, result)
    assert names == {chain.rsplit(";", 1)[1]: n for chain, n in expected.items()}, (names, result)


def test_no_library_is_taken_for_the_one_in_whose_place_it_came(workload):
    """Each hit by its number: five of one library, five of the other."""
    work = workload("swap", LATE, NEXT, 5, 1000)
    with live_snoop("-U", "-f", "-p", work.pid, GETPPID) as tool:
        work.go().wait_for("swapped")
        work.go()
        expected = work.finish()
        result = tool.end().ok()
    names = [parts[-1] for parts, n in read_folded(result.out) for _ in range(n)]
    right = [("late_hit", "next_hit")[i // 5 % 2] for i in range(len(names))]
    assert len(names) == sum(expected.values()) and names == right, result


def test_a_program_whose_file_has_been_replaced(tmp_path):
    path, other = tmp_path / "program", tmp_path / "other"
    for at, name in ((path, "syscalls-nofp"), (other, "lives-one")):
        at.write_bytes(Path(workload_path(name)).read_bytes())
        at.chmod(0o755)
    with Workload(path, "getppid", 100, 50) as work:
        other.rename(path)
        result, expected = trace(work, *DWARF, "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected, result
    assert all(parts.index("main") == 3 for parts, _ in read_folded(result.out)), result


# --- another tool's return probe waits for the frame's end ---


@contextmanager
def return_probe(pid, path, vaddr):
    """As perf's: at a function of @path, where addresses are offsets, too."""
    kind = int((DEVICES / "uprobe/type").read_text())
    name = ctypes.create_string_buffer(str(path).encode())
    # struct perf_event_attr: type, size, config (1: of returns) ...; config1, config2
    attributes = struct.pack("IIQ40xQQ40x", kind, 112, 1, ctypes.addressof(name), vaddr)
    fd = LIBC.syscall(298, attributes, pid, -1, -1, 0)
    assert fd >= 0, os.strerror(ctypes.get_errno())
    try:
        yield
    finally:
        os.close(fd)


def address_of(path, function):
    symbols = subprocess.check_output(["nm", "-D", path], text=True)
    return int(re.search(rf"^(\w+) . {function}(@.*)?$", symbols, re.M)[1], 16)


# With names where libc's debug file is installed.
INSIDE_WRITE = re.compile(r"__(internal_)?syscall_cancel(_arch)?|\[libc\.so\.6\+0x\w+\] libc\.so\.6\+0x\w+")


@pytest.mark.needs("uprobes")
def test_below_a_return_probe_of_another_tool(tmp_path):
    """It has replaced the return address. That is said, and no caller made up. What write() calls
    in newer libcs is there."""
    with programs.bash(tmp_path) as pid:
        maps = Path(f"/proc/{pid}/maps")
        libc = re.search(r" (/\S*/libc\.so\.6)$", maps.read_text(), re.M)[1]
        with return_probe(pid, libc, address_of(libc, "write")):
            programs.wait_until(lambda: "[uprobes]" in maps.read_text())
            result = stackcount(*DWARF, "-v", "-n", 100, "-p", pid, "t:syscalls:sys_enter_write")
    found = {tuple(parts): n for parts, n in read_folded(result.ok().out)}
    ((stack, n),) = found.items()
    assert stack[:2] == ("[cut: return probe of another tool]", "write") and n == 100, result
    assert all(INSIDE_WRITE.fullmatch(part) for part in stack[2:]), result


# --- other programs ---


BITS32 = "[unverified: 32-bit program]"


@pytest.mark.needs("32-bit programs")
def test_a_32_bit_program():
    """By its frame pointers, which is said: nothing tells that they are some. What is no deeper is not cut."""
    called = ("begin", "run", "branch", "hit")
    for options, whole in ([], (BITS32, "_start", *called)), (["--max-depth", 2], ("[cut: depth]", BITS32, *called[2:])):
        result = stackcount(*DWARF, *options, "t:raw_syscalls:sys_enter", "--", workload_path("bits32"), 50).ok()
        found = {tuple(parts): n for parts, n in read_folded(result.out)}
        assert found == {(BITS32, "_start", "leave"): 1, whole: 50}, result


# --- Go: by the table that its own runtime has ---

# Where stacks begin. On a thread's own stack nobody has called mcall() and morestack(), which leave
# a goroutine's. With cgo, as Debian 13's is linked, libc begins threads: in clone3(), maybe unnamed.
GO_ROOTS = re.compile(r"runtime\.(goexit|mstart|mcall|morestack)|clone3|\[libc\.so\.6\+0x[0-9a-f]+\]")


def go_stacks(tmp_path, *what):
    with programs.fzf(tmp_path) as pid:
        with Tool([*DWARF, "-p", pid, *what]) as tool:
            return read_folded(tool.wait().ok().out)


def test_go(tmp_path):
    """Without symbols, and without unwind tables of its own code: all have names, and a root."""
    stacks = go_stacks(tmp_path, "-n", 5000, "t:raw_syscalls:sys_enter")
    ends = Counter()
    for parts, n in stacks:
        ends[parts[0]] += n
    assert all(map(GO_ROOTS.fullmatch, ends)), ends
    assert ends.total() >= 5000 and ends["runtime.goexit"] > 0, ends
    unnamed = re.compile(r"\[unknown\]|\[fzf(\+0x[0-9a-f]+)?\]")
    unknown = [parts for parts, _ in stacks if any(map(unnamed.fullmatch, parts))]
    assert not unknown, unknown  # but libc's place that handlers of signals return to, which has no symbol


@pytest.mark.needs("uprobes")
def test_a_function_of_gos_without_symbols_by_its_name(tmp_path):
    """Nobody has moved rsp at its first instruction."""
    stacks = go_stacks(tmp_path, "-n", 100, "fzf:syscall.Syscall")
    assert stacks and all(parts[0] == "runtime.goexit" and parts[-1] == "syscall.Syscall" for parts, _ in stacks)
    assert {parts[-2] for parts, _ in stacks} <= {"syscall.read", "syscall.write"}, stacks


# --- programs that begin, and libraries that come and go ---

VFORKS = """
#include <unistd.h>
__attribute__((noinline)) static void starter(void) { if (vfork() == 0) _exit(0); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 20; i++) starter(); return 0; }
"""


def test_who_starts_processes_by_vfork_is_whole(tmp_path):
    """The return address is in a register at the system call."""
    result = stackcount(*DWARF, "t:sched:sched_process_fork", "--", build(tmp_path / "vforks", VFORKS, "-O1")).ok()
    ((parts, n),) = read_folded(result.out)
    assert n == 20 and parts[-3:] == ["main", "starter", "vfork"] and parts[0][0] != "[", result


def test_a_program_begins_at_the_start_of_its_interpreter():
    result = stackcount("-P", *DWARF, "t:sched:sched_process_exec", "--", "sh", "-c", "/bin/true; /bin/true; :").ok()
    found = Counter()
    for parts, n in read_folded(result.out):
        found[parts[0].partition("-")[0], *parts[1:]] += n
    assert found == {("sh", "_start"): 1, ("true", "_start"): 2}, result
