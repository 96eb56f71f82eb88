# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is wrong in bcc's stackcount, one by one. Those that other files test are named there."""

import os
import re
import time
from collections import Counter
from pathlib import Path

import pytest
from text import parse_text
from programs import cpu_time_s
from tool import GETPPID, PATIENCE_S, Tool, chains, ending, read_folded
from tool import scaled, stackcount, trace, user_chain, workload_path

CALLS = workload_path("calls")


def counts(result):
    return [count for _, count in read_folded(result.ok().out)]


@pytest.mark.needs("machine")
def test_defect_01_cpu_0_can_be_selected(workload):
    work = workload("syscalls", "getppid", 100, 0, cpus=[0, 1])
    result, _ = trace(work, "-U", "-f", "-c", "0", "-p", work.pid, GETPPID)
    assert sum(counts(result)) == 100


@pytest.mark.needs("uprobes", "path of its own")
def test_defect_02_cpu_holds_for_user_functions_and_usdt(workload):
    for program, arguments, probe in (
        ("calls", (100, 0, 0), f"{CALLS}:leaf"),
        ("usdt", (100,), f"u:{workload_path('usdt')}:alpha:tick"),
    ):
        work = workload(program, *arguments, cpus=[0, 1])
        result, _ = trace(work, "-f", "-c", "1", "-p", work.pid, probe)
        assert sum(counts(result)) == 100, program


@pytest.mark.needs("kprobes", "way to kernel functions")
def test_defect_03_cpu_holds_for_kernel_functions_on_every_kernel(workload):
    work = workload("syscalls", "read", 100, 0, cpus=[0, 1])
    result, expected = trace(work, "-U", "-f", "-c", "1", "-p", work.pid, "vfs_read")
    (chain,) = (chain for chain, n in expected.items() if n)
    assert chains(result.ok())[chain] == 100


@pytest.mark.needs("machine")
@pytest.mark.parametrize("pid", ["0", "-1", "4194303"])
def test_defect_04_pid_that_cannot_be_is_refused(pid):
    assert stackcount("-p", pid, GETPPID).status in (1, 2)


@pytest.mark.needs("uprobes", "path of its own")
def test_defect_05_pid_holds_for_children_of_the_traced_process(workload):
    """A uprobe's own PID filter is inherited by fork; the process asked for is one."""
    work = workload("spawn", "fork", 5, 10)
    result, _ = trace(work, "-K", "-f", "-p", work.pid, GETPPID)
    assert sum(counts(result)) == 0, "children were counted as the process itself"


@pytest.mark.needs("machine")
def test_defect_06_more_than_1024_stacks(workload):
    n = scaled(30_000, least=3000)
    work = workload("distinct", n, 1)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert counts(result) == [1] * n


@pytest.mark.needs("machine")
def test_defect_07_store_is_emptied_between_intervals(workload):
    """Twice the stacks of what one generation needs, spread over many intervals."""
    work = workload("distinct", scaled(10_000, least=1000), 6)
    result, expected = trace(work, "-U", "-f", "-i", "0.05", "-p", work.pid, GETPPID)
    assert sum(counts(result)) == sum(expected.values()) and result.lost == 0


@pytest.mark.needs("machine")
def test_defect_08_no_blank_entries(workload):
    work = workload("distinct", scaled(10_000, least=1000), 1)
    result, _ = trace(work, "-p", work.pid, GETPPID)
    assert all(entry.frames for entry in parse_text(result.ok().out).entries)


@pytest.mark.needs("machine")
def test_defect_09_counts_do_not_drop_when_full(workload):
    n = scaled(25_000, least=12_000)
    work = workload("distinct", n, 2)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert sum(counts(result)) + result.lost == 2 * n


@pytest.mark.needs("machine")
def test_defect_10_user_frames_have_names_by_default(workload):
    work = workload("syscalls", "getppid", 10, 0)
    result, expected = trace(work, "-f", "-d", GETPPID)
    assert chains(result.ok()).get(next(iter(expected))) == 10, result


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobes")
def test_defect_11_aslr_does_not_split_equal_paths(workload):
    works = [workload("calls-pie", 5, 0, 0) for _ in range(2)]
    with Tool(["-f", f"{workload_path('calls-pie')}:leaf"]) as tool:
        tool.wait_live()
        for work in works:
            work.run()
        result = tool.end()
    assert counts(result) == [10], result


@pytest.mark.needs("machine")
def test_defect_12_thread_names_do_not_split_a_process(workload):
    work = workload("syscalls", "getppid", 50, 0, cpus=[0, 1], options=["--rename"])
    result, _ = trace(work, "-P", "-U", "-p", work.pid, GETPPID)
    entries = parse_text(result.ok().out).entries
    assert [(entry.comm, entry.pid, entry.count) for entry in entries] == [("syscalls", work.pid, 100)]


@pytest.mark.needs("machine")
def test_defect_13_entries_told_apart_by_process_say_which(workload):
    works = [workload("syscalls", "getppid", 5, 0) for _ in range(2)]
    with Tool(["-U", "-p", f"{works[0].pid},{works[1].pid}", GETPPID]) as tool:
        tool.wait_live()
        for work in works:
            work.run()
        result = tool.end().ok()
    assert {entry.pid for entry in parse_text(result.out).entries} == {work.pid for work in works}


@pytest.mark.needs("path of its own")
def test_defect_14_and_15_intervals_lose_nothing(workload):
    n = scaled(200_000)
    work = workload("syscalls", "getppid", n, n, cpus=[0, 1])
    result, expected = trace(work, "-U", "-f", "-i", "0.02", "-p", work.pid, GETPPID)
    assert sum(counts(result)) == sum(expected.values())


@pytest.mark.needs("machine")
def test_defect_16_batches_neither_skip_nor_repeat(workload):
    """The kernel hands out rows in batches of 4,096 here, and says where the next one begins."""
    n = 3 * 4096 + 1
    work = workload("distinct", n, 2)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert counts(result) == [2] * n


@pytest.mark.needs("machine")
def test_defect_17_truncation_is_marked(workload):
    work = workload("deep", 2000, 5)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert all(parts[0].startswith("[cut") for parts, _ in read_folded(result.ok().out))


@pytest.mark.needs("machine")
def test_defect_18_lowered_max_stack_is_no_failure(workload, sysctl):
    sysctl("kernel.perf_event_max_stack", 20)
    work = workload("syscalls", "getppid", 5, 0)
    result, _ = trace(work, "-K", "-f", "-p", work.pid, GETPPID)
    assert sum(counts(result)) == 5


@pytest.mark.needs("machine")
def test_defect_19_last_call_of_a_function_names_that_function(workload):
    work = workload("noreturn", 20)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected, result


@pytest.mark.needs("machine")
def test_defect_20_no_name_beyond_a_functions_end():
    """Kernel stacks end where they do: nothing stands outside of what began the thread."""
    with Tool(["-K", "-f", "-D", "1", "t:sched:sched_switch"]) as tool:
        tool.wait_live()
        result = tool.wait().ok()
    outermost = {parts[0] for parts, _ in read_folded(result.out)}
    known = re.compile(
        r"ret_from_fork|entry_|secondary_startup|common_startup|asm_|start_kernel|x86_64_start|"
        r"startup_64|\[cut|\[unknown\]|cpu_startup_entry|do_syscall_64|start_secondary|do_idle|"
        r"irqentry|ret_from_fork_asm|kthread"
    )
    assert all(known.match(name) for name in outermost), outermost


@pytest.mark.needs("kprobes", "modules", "newest kernel")
def test_defect_21_modules_loaded_later_have_names(tmp_path):
    import ctypes
    import fcntl
    import itertools

    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall(176, b"loop", 0)  # delete_module
    with Tool(["-K", "-i", "0.5", "blk_mq_alloc_tag_set", "t:sched:sched_switch"]) as tool:
        tool.wait_live()
        tool.wait_for("stdout", rb"__schedule")  # names were looked up before
        with open("/tests/modules/loop.ko", "rb") as module:
            assert libc.syscall(313, module.fileno(), b"", 0) == 0, os.strerror(ctypes.get_errno())
        if not os.path.exists("/dev/loop-control"):
            os.mknod("/dev/loop-control", 0o20600, os.makedev(10, 237))
        # A report that falls into the loading of the module may know it too late for its first hits.
        deadline = time.monotonic() + PATIENCE_S
        with open("/dev/loop-control", "rb") as control:
            for number in itertools.count(77):
                fcntl.ioctl(control, 0x4C80, number)  # LOOP_CTL_ADD
                if b"loop_control_ioctl" in tool.bytes("stdout") or time.monotonic() > deadline:
                    break
                time.sleep(0.6)
        result = tool.end().ok()
    frames = [frame for entry in parse_text(result.out).entries for frame in entry.frames]
    assert "loop_control_ioctl" in frames, result


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobes")
@pytest.mark.walk("fp")
def test_defect_22_libraries_loaded_later_have_names(workload):
    work = workload("dl", workload_path("liblate.so"), 10)
    with Tool(["-U", "-f", "-i", "0.3", "-p", work.pid, GETPPID]) as tool:
        tool.wait_live()
        work.go().wait_for("loading")
        tool.wait_for("stdout", rb"hit 10$")
        work.go()
        expected = work.finish()
        tool.wait_for("stdout", rb"late_hit 10$")
        result = tool.end().ok()
    assert chains(result) == expected, result


@pytest.mark.needs("machine")
def test_defect_24_rust_and_d_names_are_read(workload):
    work = workload("mangled", 10)
    result, expected = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert chains(result.ok()) == expected, result


@pytest.mark.needs("machine", "uprobes")
@pytest.mark.parametrize("name", ["mycrate::net::send", "mycrate::net::poll", "demangle.test"])
def test_defect_24_patterns_match_rust_and_d_names(name):
    listed = stackcount("-l", f"{workload_path('mangled')}:{name}").ok().out
    assert len(listed.splitlines()) == 1, listed


@pytest.mark.needs("machine", "uprobes")
def test_defect_25_glob_is_a_glob(workload):
    work = workload("calls", 5, 0, 7)
    for pattern, names in (
        ("le?f", {"leaf"}),
        ("lea[f]", {"leaf"}),
        ("le.f", set()),
        ("lea?*", {"leaf", "leafy", "leaf_bare"}),
        ("leaf$", set()),
    ):
        result = stackcount("-l", f"{CALLS}:{pattern}")
        found = {line.rpartition(":")[2] for line in result.out.splitlines()}
        assert found == names, (pattern, result)
    assert work.run()


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobes")
def test_defect_26_colons_in_names_are_no_separators(workload):
    program = workload_path("cxx")
    work = workload("cxx", 10)
    result, expected = trace(work, "-f", "-p", work.pid, f"{program}:shop::Cart::add(int)")
    (chain,) = expected
    assert chains(result.ok()) == {chain.rpartition(";")[0]: 10}, result
    assert stackcount("-l", "-r", f"{program}:^shop::(?:Cart|x)").status in (0, 2)
    listed = stackcount("-l", "-r", f"{program}:^shop::price").ok().out
    assert len(listed.splitlines()) == 2, listed


@pytest.mark.needs("machine", "uprobes")
def test_defect_27_globs_match_whole_names_for_every_kind():
    assert stackcount("-l", f"{CALLS}:lea").status == 1
    assert stackcount("-l", "t:sched:sched_swit").status == 1
    assert stackcount("-l", f"u:{workload_path('usdt')}:tic").status == 1


@pytest.mark.needs("machine", "uprobes")
def test_defect_27_regexps_are_unanchored_for_every_kind():
    assert "sched_switch" in stackcount("-l", "-r", "t:sched:swit").ok().out
    assert "leaf_bare" in stackcount("-l", "-r", f"{CALLS}:af_ba").ok().out
    assert "tick" in stackcount("-l", "-r", f"u:{workload_path('usdt')}:ic").ok().out


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
def test_defect_27_regexps_are_unanchored_for_kernel_functions():
    assert "vfs_read" in stackcount("-l", "-r", "fs_rea").ok().out
    assert stackcount("-l", "fs_rea").status == 1


@pytest.mark.needs("machine", "uprobes")
def test_defect_28_patterns_match_names_as_people_write_them():
    listed = stackcount("-l", f"{workload_path('cxx')}:shop::price*").ok().out
    assert len(listed.splitlines()) == 2, listed


@pytest.mark.needs("machine", "uprobes")
def test_defect_28_mangled_names_still_match():
    listed = stackcount("-l", f"{workload_path('cxx')}:_ZN4shop5priceEd").ok().out
    assert len(listed.splitlines()) == 1, listed


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobes")
def test_defect_29_provider_can_be_given(workload):
    work = workload("usdt", 10)
    result, expected = trace(work, "-f", f"u:{workload_path('usdt')}:beta:tick")
    assert chains(result.ok()) == ending(expected, "fire_beta"), result


@pytest.mark.needs("uprobes", "path of its own")
def test_defect_30_semaphores_need_no_pid(workload):
    work = workload("usdt", 10)
    result, expected = trace(work, "-f", f"u:{workload_path('usdt')}:gated")
    assert chains(result.ok()) == ending(expected, "fire_gated") != {}, result


@pytest.mark.needs("machine")
@pytest.mark.needs("uprobes")
def test_defect_31_library_is_looked_up_where_the_process_sees_it(tmp_path, workload):
    """In its own mount namespace, with a root that differs from ours."""
    import shutil
    import subprocess

    inside = tmp_path / "inside"
    inside.mkdir()
    shutil.copy(CALLS, inside / "only-there")
    hidden = tmp_path / "hidden"
    hidden.mkdir()
    script = f"mount --bind {inside} {hidden} && exec {hidden}/only-there --wait 10 0 0"
    process = subprocess.Popen(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout.readline().startswith("ready ")
        assert not os.path.exists(hidden / "only-there")
        with Tool(["-f", "-p", process.pid, f"{hidden}/only-there:leaf"]) as tool:
            tool.wait_live()
            process.stdin.write("\n")
            process.stdin.flush()
            while process.stdout.readline() != "done\n":
                pass
            result = tool.end()
        assert counts(result) == [10], result
    finally:
        process.stdin.close()
        process.kill()
        process.wait()
        process.stdout.close()


THOUSANDS = [
    pytest.param("c:*", marks=pytest.mark.needs("machine", "uprobe.multi"), id="user functions"),
    pytest.param("s*", marks=pytest.mark.needs("kprobe.multi"), id="kernel functions"),
]


@pytest.mark.needs("newest kernel")
@pytest.mark.parametrize("pattern", THOUSANDS)
def test_defect_32_more_than_1000_functions_without_an_event_each(workload, pattern):
    work = workload("calls", 1, 0, 0)  # c: is what this process has mapped
    with Tool(["-p", work.pid, pattern]) as tool:
        tool.wait_live(120)
        n_events = tool.n_perf_events()
        result = tool.end(timeout_s=120).ok()
    assert parse_text(result.out).n_functions > 1000
    assert n_events <= 3 * os.cpu_count() + 1  # those that follow processes


REFUSED = f"{workload_path('vector')}:long_nop"


@pytest.mark.needs("uprobes", "path of its own")
def test_defect_33_refused_functions_are_told(workload):
    """It begins with an instruction with a prefix, at which the kernel looks where a process has it mapped."""
    workload("vector", 1)
    result = stackcount("--debug", "-D", "0.1", REFUSED, "c:pthread_spin_unlock").ok()
    assert re.findall(r"refused: (\S+): ", result.err) == ["long_nop"], result
    assert "1 of 2 could not be traced" in result.err, result


@pytest.mark.needs("uprobes", "path of its own")
def test_defect_33b_every_function_refused_is_an_error_with_the_reason(workload):
    workload("vector", 1)
    result = stackcount("-D", "0.1", REFUSED)
    assert result.status == 1 and result.err.startswith("stackcount: attach long_nop: "), result
    assert result.stdout == b""


# Each of these files is read by a static function m_start of its own.
M_START = ["/proc/self/maps", "/proc/self/mounts", "/proc/modules"]
OTHERS = ["vfs_open", "vfs_readv", "vfs_writev", "vfs_fsync"]


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
@pytest.mark.parametrize(
    "patterns",
    [["m_start"], ["m_st?rt"], ["m_start", *OTHERS], ["-r", "^m_start$"]],
    ids=["name", "wildcard", "long list of names", "regular expression"],
)
def test_defect_34_every_function_of_a_name_is_traced(patterns):
    with Tool(["-f", "-K", "-i", "0.3", "-p", os.getpid(), *patterns]) as tool:
        tool.wait_live()
        for n, path in enumerate(M_START, 1):
            Path(path).read_bytes()
            tool.wait_for("stdout", rb"(;m_start \d+\n(?s:.*)){%d}" % n)
        tool.end().ok()


def namesakes():
    """{name: how many functions of it ftrace can trace}, of those that kallsyms has more of."""
    def names(path, column):
        return Counter(line.split()[column] for line in Path(path).read_text().splitlines())

    traceable = names("/sys/kernel/tracing/available_filter_functions", 0)
    symbols = names("/proc/kallsyms", 2)
    return {name: n for name, n in traceable.items() if symbols[name] > n}


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes", "site addresses")
def test_defect_34_namesakes_that_cannot_be_traced_do_not_cost_the_one_that_can():
    name, n = next(iter(namesakes().items()))
    result = stackcount("-D", "0.2", f"[{name[0]}]{name[1:]}").ok()
    assert parse_text(result.out).n_functions == n and "could not be traced" not in result.err


@pytest.mark.needs("newest kernel")
@pytest.mark.needs("kprobes")
def test_defect_35_functions_that_ftrace_cannot_trace(workload):
    work = workload("syscalls", "getppid", 10, 0)
    result, _ = trace(work, "-K", "-f", "-p", work.pid, "__x64_sys_getppid")
    assert sum(counts(result)) == 10


@pytest.mark.needs("machine")
def test_defect_36_several_patterns(workload):
    work = workload("syscalls", "getppid", 10, 0)
    patterns = [GETPPID, "t:syscalls:sys_exit_getppid"]
    result, _ = trace(work, "-U", "-f", "-p", work.pid, *patterns)
    assert sum(counts(result)) == 20, result


@pytest.mark.needs("machine")
def test_defect_37_a_tracepoint_of_two_parts_is_refused():
    result = stackcount("t:foo")
    assert result.status == 2 and "t:CATEGORY:EVENT" in result.err, result


@pytest.mark.needs("machine")
def test_defect_38_process_line_is_text(workload):
    work = workload("syscalls", "getppid", 10, 0)
    result, _ = trace(work, "-P", "-U", "-p", work.pid, GETPPID)
    assert f"\n    syscalls [{work.pid}]\n" in result.ok().out


@pytest.mark.needs("machine")
def test_defect_39_odd_names_are_made_visible(workload):
    work = workload("odd", 10)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    ((parts, count),) = read_folded(result.ok().out)
    assert count == 10
    assert len(parts) == parts.index("run") + 4, parts
    assert b"\x1b" not in result.stdout and b"\xff" not in result.stdout


@pytest.mark.needs("machine")
def test_defect_39_odd_names_in_text(workload):
    work = workload("odd", 10)
    result, _ = trace(work, "-U", "-p", work.pid, GETPPID)
    frames = parse_text(result.ok().out).entries[0].frames
    assert frames[0] == "hit" and frames[2] == "odd;semi colon", frames
    assert frames[1].startswith("odd\\x1b"), frames
    assert b"\x1b" not in result.stdout
    result.stdout.decode("utf-8")


@pytest.mark.needs("machine")
def test_defect_40_folded_has_no_empty_first_frame(workload):
    work = workload("syscalls", "getppid", 10, 0)
    result, _ = trace(work, "-U", "-f", "-p", work.pid, GETPPID)
    assert not result.ok().out.startswith(";")
    assert counts(result) == [10]


@pytest.mark.needs("machine")
def test_defect_41_folded_shows_offsets_and_no_time(workload):
    work = workload("syscalls", "getppid", 10, 0)
    result, _ = trace(work, "-U", "-f", "-s", "-T", "-p", work.pid, GETPPID)
    ((parts, _),) = read_folded(result.ok().out)
    assert re.fullmatch(r"hit\+0x[0-9a-f]+", parts[-1]), parts


@pytest.mark.needs("machine")
@pytest.mark.parametrize("interval", ["0", "abc", "-2", ""])
def test_defect_42_bad_intervals_are_refused_before_attaching(interval):
    result = stackcount("-i", interval, GETPPID)
    assert result.status == 2 and result.stdout == b"" and "-i" in result.err, result


@pytest.mark.needs("machine")
def test_defect_42_fractions_of_seconds(workload):
    work = workload("syscalls", "getppid", 10, 0)
    with Tool(["-U", "-i", "0.2", "-D", "1.1", "-p", work.pid, GETPPID]) as tool:
        tool.wait_live()
        work.run()
        result = tool.wait().ok()
    reports = parse_text(result.out).reports
    assert 1 <= len(reports) <= 6, result  # one that is late is one with the next
    assert sum(report.total for report in reports) == 10


@pytest.mark.needs("machine")
def test_defect_43_duration_is_kept_whatever_the_interval_is():
    """It is over long before the first interval would be."""
    with Tool(["-D", "1", "-i", 20 * PATIENCE_S, GETPPID]) as tool:
        tool.wait().ok()
    assert tool.took_s >= 1


@pytest.mark.needs("machine")
def test_defect_44_sigterm_prints_the_counts(workload):
    import signal

    work = workload("syscalls", "getppid", 10, 0)
    with Tool(["-U", "-f", "-p", work.pid, GETPPID]) as tool:
        tool.wait_live()
        work.run()
        result = tool.end(signal.SIGTERM)
    assert counts(result) == [10]


@pytest.mark.needs("machine")
def test_defect_45_piped_output_is_flushed(workload):
    work = workload("syscalls", "getppid", 10, 0)
    with Tool(["-U", "-f", "-i", "0.2", "-p", work.pid, GETPPID]) as tool:
        tool.wait_live()
        work.run()
        tool.wait_for("stdout", rb" 10$")
        tool.end().ok()


@pytest.mark.needs("machine")
def test_defect_46_errors_go_to_standard_error_with_a_status():
    result = stackcount("t:sched:no_such_event")
    assert result.status == 1 and result.stdout == b"" and result.err, result


@pytest.mark.walk("fp")
@pytest.mark.needs("machine", "uprobes")
def test_defect_47_folded_reports_follow_each_other_whole_and_with_counts_of_their_own(workload):
    """
    There is no mark between them (a line of another form is none of this format): who wants to
    tell them apart reads them as they come.
    """
    with Tool(["-f", "-i", "0.2", f"{CALLS}:leaf"]) as tool:
        tool.wait_live()
        for n in (10, 20, 30):
            workload("calls", n, 0, 0).run()
            tool.wait_for("stdout", rf";leaf {n}\n\Z".encode())
        result = tool.end()
    assert counts(result) == [10, 20, 30], result


@pytest.mark.needs("machine")
def test_defect_48_top_and_min(workload):
    work = workload("syscalls", "getppid", 40, 2)
    result, _ = trace(work, "-U", "-f", "--top", "1", "--min", "2", "-p", work.pid, GETPPID)
    assert counts(result) == [40]


@pytest.mark.needs("machine")
def test_defect_49_verbose_names_the_module_of_what_has_no_name(workload):
    work = workload("calls-stripped", 5, 0, 0)
    result, _ = trace(work, "-v", "-p", work.pid, f"{workload_path('calls-stripped')}:leaf")
    assert re.search(r"\[calls-stripped\+0x[0-9a-f]+\] calls-stripped\+0x", result.ok().out), result


@pytest.mark.needs("machine")
def test_defect_50_live_in_milliseconds():
    """Of its own: who else is at work does not matter. The figure itself is in bench/."""
    times = []
    for _ in range(5):
        with Tool([GETPPID]) as tool:
            tool.wait_for_header()
            times.append(cpu_time_s(tool.pid))
            tool.end().ok()
    assert min(times) < 0.25, times


@pytest.mark.needs("path of its own")
def test_defect_50_memory(workload):
    """Of one process: the tables of all the others here take what they take."""
    work = workload("syscalls", "getppid", 1000, 0)
    with Tool(["-f", "-p", work.pid, GETPPID]) as tool:
        tool.wait_live()
        work.run()
        status = open(f"/proc/{tool.pid}/status").read()
        assert sum(counts(tool.end())) == 1000
    assert int(re.search(r"VmHWM:\s+(\d+)", status)[1]) < 40 * 1024


@pytest.mark.needs("machine")
def test_user_chain_is_found():
    assert user_chain(["_start", "main", "run", "hit", "-", "do_syscall_64"]) == "main;run;hit"
