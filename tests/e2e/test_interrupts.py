# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A hit may raise an interrupt whose functions are hit in turn: the machine must go on all the same."""

import re

import pytest
from tool import STACKCOUNT, Tool, read_folded, workload_path

# The functions of irq_work, of RCU, of what BPF's maps allocate by, and of the timer.
FUNCTIONS = "|".join(
    (
        "irq_work_.*|__irq_work_.*|irq_(enter|exit)(_rcu)?|__irq_exit_rcu",
        "rcu_(core|gp|sched_clock|report|segcblist|cblist|note|accelerate|qs|is)_.*|rcu_core|call_rcu.*|__call_rcu.*",
        "bpf_mem_.*|unit_alloc|unit_free|alloc_bulk|free_bulk|kmalloc.*|__kmalloc.*|kfree|__slab_alloc.*|___slab_alloc",
        "hrtimer_.*|__hrtimer_.*|tick_.*|update_process_times|(scheduler|sched)_tick|run_local_timers|timekeeping_.*",
    )
)
PATIENCE_S = 150
UPTIMES = ["sh", "-c", "for i in 1 2 3; do cat /proc/uptime; done"]


def without_uptimes(out):
    return re.sub(r"^\d+\.\d+ \d+\.\d+\n", "", out, flags=re.M)


@pytest.mark.core
@pytest.mark.needs("kprobe.multi")
def test_functions_of_interrupts_that_a_hit_raises():
    """Right after an exec, programs walk user stacks by the kernel's own mappings: on 6.12 that never ended."""
    with Tool(["-f", "-r", f"^({FUNCTIONS})$", "--", *UPTIMES], program=STACKCOUNT) as tool:
        result = tool.wait(PATIENCE_S)
    assert len(re.findall(r"^\d+\.\d+ \d+\.\d+$", result.ok().out, re.M)) == 3
    assert sum(n for _, n in read_folded(without_uptimes(result.out))) > 0


@pytest.mark.core
@pytest.mark.needs("kprobe.multi", "way to kernel functions")
def test_a_cpu_rests_from_thousands_of_functions():
    """Among them are those by which a hit walks the stack: hits would leave the machine no time."""
    # The stack is so deep that walking it takes most of the time, however fast the machine is.
    deep = [workload_path("ladder"), "--quiet", "200", "1", "30000"]
    pattern = "^(([u-z]|_?copy|orc|in_).*|__(x64|arm64|do)_sys_getppid)$"
    with Tool(["-f", "-r", pattern, "--", *deep], program=STACKCOUNT) as tool:
        result = tool.wait(PATIENCE_S)
    assert "while the CPU rested from tracing" in result.ok().err
    assert sum(n for _, n in read_folded(result.out)) > 0
