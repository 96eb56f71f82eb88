# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""BPF programs and modules that come and go: each frame has the name of what was there at the hit. Names of workers."""

import ctypes
import os
import re

import pytest
from kernel import NUMBERS
from tool import STACKSNOOP, Live, read_folded, stackcount

LIBC = ctypes.CDLL(None, use_errno=True)
PRINTK = "t:bpf_trace:bpf_trace_printk"
OURS = re.compile(r"bpf_prog_[0-9a-f]{16}_(late_\d+)")
UNKNOWN = re.compile(r"\[unknown\]( \S+)?")
N = 10


def caller(parts):
    """Of the function that made the hit: a program, if its name is known."""
    assert parts[-1] == "bpf_trace_printk", parts
    return parts[-2]


def program_of(parts):
    """late_I, None if it has no name."""
    found = OURS.fullmatch(caller(parts))
    assert found or UNKNOWN.fullmatch(caller(parts)), parts
    return found and found[1]


def lines(result):
    return [(parts, n) for parts, n in read_folded(result.ok().out) if parts[-1] == "bpf_trace_printk"]


def test_events_have_the_program_that_was_there(workload):
    """Each program waits until its last event is printed, and stays: in the place of one that has gone, none is sure."""
    work = workload("programs", N, "slowly")
    with Live(["-K", "-f", PRINTK], program=STACKSNOOP) as tool:
        for i in range(N):
            work.go().wait_for(f"late_{i}")
            tool.wait_for("stdout", rb"(?s)(^late_%d;[^\n]*\n.*){%d}" % (i, i + 1))
        work.go().finish()
        result = tool.end()
    named = [(parts[0], program_of(parts)) for parts, _ in lines(result) if parts[0].startswith("late_")]
    assert named == [(f"late_{i}", f"late_{i}") for i in range(N) for _ in range(i + 1)], result


def test_events_of_programs_in_haste_have_no_wrong_name(workload):
    """Without the programs that the tool loads meanwhile: one of them may come to the place of one that goes."""
    work = workload("programs", N)
    with Live(["-K", "-f", "--kernel-unwind", "helper", PRINTK], program=STACKSNOOP) as tool:
        work.run()
        tool.wait_for("stdout", rb"(?:^late_[^\n]*\n(?:(?!late_)[^\n]*\n)*){%d}" % (N * (N + 1) // 2))
        result = tool.end()
    named = [(parts[0], program_of(parts)) for parts, _ in lines(result) if parts[0].startswith("late_")]
    assert len(named) == N * (N + 1) // 2, result
    assert all(program in (comm, None) for comm, program in named), result


def test_rows_have_a_programs_name_where_it_is_sure(workload):
    """All but the last program are gone; rows of theirs may have become rows of the last."""
    work = workload("programs", N)
    with Live(["-K", "-f", PRINTK]) as tool:
        work.run()
        result = tool.end()
    rows = [(OURS.search(caller(parts)), n) for parts, n in lines(result)]
    named = [(found[1], n) for found, n in rows if found]
    assert sum(n for _, n in rows) >= N * (N + 1) // 2, result
    assert {name for name, _ in named} <= {f"late_{N - 1}"}, result
    assert sum(n for _, n in named) <= N, result


def test_rows_have_the_name_of_a_program_loaded_later(workload):
    work = workload("programs", 1)
    with Live(["-K", "-f", "-i", "0.2", PRINTK, "t:sched:sched_switch"]) as tool:
        tool.wait_for("stdout", rb"__schedule")  # names were looked up before
        work.run()
        tool.wait_for("stdout", rb";bpf_prog_[0-9a-f]{16}_late_0;bpf_trace_printk 1$")
        tool.end().ok()


def delete_loop():
    return LIBC.syscall(176, b"loop", 0)


def insert_loop():
    """The loop driver, a module that guests have."""
    with open("/tests/modules/loop.ko", "rb") as module:
        assert LIBC.syscall(NUMBERS["finit_module"], module.fileno(), b"max_loop=2", 0) == 0, os.strerror(ctypes.get_errno())


@pytest.mark.needs("modules", "newest kernel")
@pytest.mark.parametrize("is_gone", [pytest.param(True, marks=pytest.mark.core), False])
def test_a_module_that_is_gone_leaves_frames_without_names(is_gone):
    delete_loop()
    with Live(["-K", "-f", "__blk_mq_alloc_disk"]) as tool:
        insert_loop()
        if is_gone:
            assert delete_loop() == 0
        result = tool.end().ok()
    stacks = [parts for parts, _ in read_folded(result.out) if "do_one_initcall" in parts]
    assert stacks, result
    for parts in stacks:
        called = parts[parts.index("do_one_initcall") + 1 :]
        assert called[-1] == "__blk_mq_alloc_disk" and len(called) == 3, result
        assert called[1] == ("[unknown]" if is_gone else "loop_add"), result
        assert called[0] in ("[unknown]", "loop_init"), result
        assert not is_gone or called[0] == "[unknown]", result


def test_a_worker_has_its_own_name_without_that_of_its_queue():
    rows = read_folded(stackcount("-f", "-P", "-D", 1.5, "t:workqueue:workqueue_execute_start").ok().out)
    workers = {parts[0] for parts, _ in rows if re.match(r"kworker/(?!R)", parts[0])}
    assert workers and all(re.fullmatch(r"kworker/\w+:\w+", name) for name in workers), workers
