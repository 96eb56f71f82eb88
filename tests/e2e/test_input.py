# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Input that is wrong and machines that do not allow: one clear line on standard error, the right
status, nothing on standard output, nothing left behind."""

import contextlib
import ctypes
import errno
import os
import re
import resource
import shutil
import signal
import struct
import subprocess
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from hostile_elf import named
from kernel import MOUNT_READ_ONLY, UNMOUNT, WITH_TRACEFS, in_tracefs, with_mounts
from names import run
from tool import FUNCCOUNT, GETPPID, PATIENCE_S, STACKCOUNT, Live, check_refused, read_folded, stackcount, trace
from tool import wait_until, workload_path

FAILED, USAGE, NOBODY = 1, 2, 65534
CALLS = workload_path("calls")


# One of each kind that says no, as a glob. What options say is in tests/unit/test_options.c, what is not found in test_match.c.
SAID_NO = [
    ("stackcount", ["x\n:y:\x1bz:w"], USAGE, "'x?:y:?z:w': too many ':' *\n  x?:y:?z:w\n      ^"),
    ("stackcount", ["sched_switch"], FAILED, "no kernel function matches 'sched_switch' (did you mean t:sched:sched_switch?)"),
    ("funccount", [f"{CALLS}:lef"], FAILED, f"no function of {CALLS} matches '{CALLS}:lef' (did you mean leaf?)"),
    ("stackcount", ["--sum", "8 * (pdi - 1)", "t:sched:sched_process_exit"], FAILED,
     "--sum 8 * (pdi - 1): * (did you mean pid?)\n  8 * (pdi - 1)\n       ^"),
    ("stacksnoop", [GETPPID, "--", "/no/such/command"], FAILED, "command '/no/such/command': No such file or directory"),
]


@pytest.mark.parametrize("name,args,status,said", SAID_NO, ids=[" ".join(map(str, [case[0], *case[1]])) for case in SAID_NO])
def test_refused(name, args, status, said):
    result = run(name, *args)
    check_refused(result, status, lines=said.count("\n") + 1)
    assert fnmatchcase(result.err, f"{name}: {said}\n"), result


@pytest.mark.needs("no kprobes")
def test_kernel_without_kprobes_says_so_and_what_works():
    for name, pattern in (("stackcount", "vfs_read"), ("stacksnoop", "vfs_read"), ("stackcount", "r:vfs_read")):
        check_refused(run(name, pattern), FAILED, "has no kprobes", "tracepoint")


def test_pid_that_ends_while_traced_ends_the_run(workload):
    work = workload("syscalls", "getppid", 30, 0)
    with Live(["-U", "-f", "-p", work.pid, GETPPID]) as tool:
        work.run()
        work.close()
        result = tool.wait().ok()
    assert sum(count for _, count in read_folded(result.out)) == 30
    assert result.err.endswith("stackcount: the process of -p has ended\n"), result


@pytest.fixture
def public_copy(tmp_path_factory):
    """The program where any user may run it."""
    folder = Path("/tmp") / f"stackcount-test-{os.getpid()}"
    folder.mkdir(mode=0o755, exist_ok=True)
    shutil.copy(STACKCOUNT, folder / "stackcount")
    os.chmod(folder / "stackcount", 0o755)
    yield str(folder / "stackcount")
    shutil.rmtree(folder)


def test_no_root(public_copy):
    result = stackcount(GETPPID, program=public_copy, user=NOBODY, group=NOBODY, extra_groups=[], cwd="/")
    check_refused(result, FAILED, r"root|CAP_\w+")


def with_capabilities(*names, nobody=False, user=NOBODY):
    """A wrapper: root, or another user, with these capabilities alone."""
    listed = "".join(f",+{name}" for name in names)
    user = ["--reuid", str(user), "--regid", str(NOBODY), "--clear-groups"] if nobody else []
    sets = ("--bounding-set", "--inh-caps", "--ambient-caps")
    return ["setpriv", *user, *(f"{name}=-all{listed}" for name in sets)]


LEAF = f"{CALLS}:leaf"
# And what serves them without a perf event.
EVENTS = [
    pytest.param(GETPPID, None, id="tracepoint"),
    pytest.param(LEAF, "uprobe.multi", id="user function", marks=pytest.mark.needs("uprobes")),
    pytest.param("vfs_read", "kprobe.multi", id="kernel function", marks=pytest.mark.needs("kprobes")),
]
ENOUGH = [("bpf", "perfmon"), ("sys_admin",)]


def test_missing_capability_is_named():
    for held, missing in ((), "CAP_BPF"), (("bpf",), "CAP_PERFMON"):
        check_refused(stackcount(GETPPID, wrap=[*WITH_TRACEFS, *with_capabilities(*held)]), FAILED, f"{missing} is missing")


@pytest.mark.needs("newest kernel")
@pytest.mark.parametrize("event,multi", EVENTS)
@pytest.mark.parametrize("held,level", [(ENOUGH[0], 2), *(pytest.param(held, 3, marks=pytest.mark.thorough) for held in ENOUGH)])
def test_enough_capabilities_work_or_the_sysctl_is_named(held, level, event, multi, sysctl, kernel):
    """perf_event_paranoid 3 is Debian's: CAP_SYS_ADMIN only. Multi links need no perf event, but a run with user stacks does."""
    sysctl("kernel.perf_event_paranoid", level)
    wrap = [*with_mounts(MOUNT_READ_ONLY), *with_capabilities(*held)]
    opens = kernel.opens_perf_uprobes if event == LEAF else kernel.opens_perf_events
    works = opens(wrap) or (multi and kernel.NEEDS[multi]())
    result = stackcount("-d", "0.2", event, program=FUNCCOUNT, wrap=wrap)
    follows = stackcount("-D", "0.2", event, wrap=wrap)
    if works:
        assert "Tracing 1 functions" in result.ok().out
        assert follows.status == 0 or not kernel.opens_perf_events(wrap)
        assert follows.status == 0 or "follow processes: sysctl kernel.perf_event_paranoid above 2" in follows.err
    else:
        cause = "kernel.perf_event_paranoid" if level == 3 else "perf's uprobes"
        check_refused(result, FAILED, cause, "CAP_SYS_ADMIN")


@pytest.mark.needs("path of its own")
def test_tracefs_of_another_user_needs_a_capability(public_copy, sysctl):
    sysctl("kernel.perf_event_paranoid", 2)
    for held, works in (("bpf", "perfmon"), False), (("bpf", "perfmon", "dac_read_search"), True):
        wrap = [*WITH_TRACEFS, *with_capabilities(*held, nobody=True)]
        result = stackcount("-D", "0.2", GETPPID, program=public_copy, wrap=wrap, cwd="/")
        if works:
            assert "Tracing " in result.ok().out
        else:
            check_refused(result, FAILED, "this user may not read tracefs", "CAP_DAC_READ_SEARCH")


@pytest.mark.needs("unwinding")
def test_the_limit_of_processes_is_named(public_copy, sysctl):
    """It may make no thread and no process: its user has one already, the run itself."""
    sysctl("kernel.perf_event_paranoid", 2)
    held = with_capabilities("bpf", "perfmon", "dac_read_search", "sys_ptrace", nobody=True, user=100_000 + os.getpid())
    options = {"wrap": [*WITH_TRACEFS, *held], "preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NPROC, (1, 1)), "cwd": "/"}
    result = stackcount("--unwind", "dwarf", GETPPID, program=public_copy, **options)
    check_refused(result, FAILED, r"too many processes and threads of this user \(see ulimit -u\)", lines=None)


def refuse_bpf(code):
    """For a child: a seccomp filter, as containers have them, answers bpf(2) with errno @code."""
    load, equal, give, allow = 0x20, 0x15, 0x06, 0x7FFF0000
    filters = (load, 0, 0, 0), (equal, 0, 1, 321), (give, 0, 0, 0x00050000 | code), (give, 0, 0, allow)
    program = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in filters))
    counted = struct.pack("HxxxxxxQ", len(filters), ctypes.addressof(program))
    libc = ctypes.CDLL(None)
    if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, counted, 0, 0):  # no new privileges; a filter
        os._exit(99)


@pytest.mark.parametrize("code,words", [(errno.EPERM, "not permitted"), pytest.param(errno.ENOSYS, "CONFIG_BPF_SYSCALL", marks=pytest.mark.thorough)])
def test_a_filter_that_refuses_bpf_is_named(code, words):
    """It is no limit of memory, though libbpf takes the error for one, and no lack of the kernel."""
    result = stackcount(GETPPID, preexec_fn=lambda: refuse_bpf(code))
    check_refused(result, FAILED, r"bpf\(2\)", "seccomp", words)
    assert "memory" not in result.err and "MEMLOCK" not in result.err and "6.1 or later" not in result.err, result


def test_children_are_heard_of_where_the_parent_ignored_their_end():
    """An ignored SIGCHLD is inherited."""
    command = [workload_path("syscalls"), "--quiet", "getppid", "30", "0"]
    ignore = lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # noqa: E731
    result = stackcount("-U", "-f", GETPPID, "--", *command, preexec_fn=ignore).ok()
    assert [count for _, count in read_folded(result.out)] == [30], result
    assert "exited with status 0" in result.err, result


def test_a_proc_that_does_not_show_us_is_told():
    command = [workload_path("syscalls"), "--quiet", "getppid", "30", "0"]
    result = stackcount("-U", "-f", GETPPID, "--", *command, wrap=["unshare", "--pid", "--fork"]).ok()
    assert sum(count for _, count in read_folded(result.out)) == 30, result
    assert result.err.count("/proc is not mounted, or belongs to another PID namespace") == 1, result


@pytest.mark.needs("path of its own")
def test_tracefs_that_is_not_mounted_is_mounted_or_told():
    result = stackcount("-D", "0.1", "t:sched:sched_switch", wrap=with_mounts(UNMOUNT))
    if result.status != 0:
        check_refused(result, FAILED, "mount", "tracefs")
    else:
        assert "Tracing 1 functions" in result.out


@pytest.mark.needs("uprobe events", "path of its own")
def test_an_event_that_somebody_has_defined_is_no_tracepoint(machine):
    """It wants another kind of program."""
    group = f"others{os.getpid()}"
    machine.callback(in_tracefs, "echo 0 >events/$1/place/enable; echo -:$1/place >>uprobe_events", group)
    define = 'echo "p:$1/place $2:0x1000" >>uprobe_events && echo 1 >events/$1/place/enable'
    assert in_tracefs(define, group, CALLS).returncode == 0
    check_refused(stackcount(f"t:{group}:*"), FAILED, f"attach {group}:place: .* trace its function instead")


@pytest.mark.needs("path of its own")
def test_lowered_max_stack(workload, sysctl):
    """The kernel's walk then ends early: cut, and said so; no failure (bcc's map was refused)."""
    sysctl("kernel.perf_event_max_stack", 8)
    work = workload("syscalls", "getppid", 30, 0)
    result, _ = trace(work, "-f", "-p", work.pid, GETPPID)
    assert sum(count for _, count in read_folded(result.ok().out)) == 30, result


def test_kptr_restrict(sysctl):
    sysctl("kernel.kptr_restrict", 2)
    result = stackcount("-K", "-f", "-D", "0.2", "t:sched:sched_switch").ok()
    assert "kptr_restrict" in result.err, result
    assert "[unknown]" in result.out and "schedule" not in result.out


@pytest.mark.parametrize("script,statuses,out,err", [
    (f"{STACKCOUNT} -i 0.1 t:sched:sched_switch | head -c 10; exit ${{PIPESTATUS[0]}}", (0, 1), "(?s).{10}", "(.+\n)?"),
    (f"{STACKCOUNT} -D 0.1 t:sched:sched_switch >&-", (1,), "", "stackcount: standard output is closed\n"),
    (f"{STACKCOUNT} -D 0.2 t:sched:sched_switch 2>&- <&-", (0,), "(?s).*\nDetaching\\.\\.\\.\n", ""),
], ids=["its reader ends the run", "output is an error", "error costs no report"])
def test_standard_streams_that_are_closed(script, statuses, out, err):
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=PATIENCE_S)
    assert done.returncode in statuses and re.fullmatch(out, done.stdout) and re.fullmatch(err, done.stderr), done


def test_foreign_names_are_made_visible_in_lists_and_messages(tmp_path):
    pattern = f"{named(tmp_path / 'odd.so', 'odd' + chr(27) + '[31m')}:odd*"
    listed = stackcount("-l", pattern).ok()
    told = stackcount("-D", "0.1", "c:\x1b[31m")
    traced = stackcount("--debug", "-D", "0.1", pattern).ok()
    assert "\\x1b" in listed.out and "\\x1b" in told.err and "\\x1b" in traced.err
    assert "\x1b" not in listed.out + told.err + traced.err + traced.out


KINDS = {"prog_id": 11, "map_id": 12, "link_id": 31}  # in fdinfo; the command of bpf(2) for the next one's id


def ids_of(pid):
    """{command: ids} of the programs, maps and links that a process holds."""
    ids = {command: set() for command in KINDS.values()}
    for info in Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            for kind, number in re.findall(r"^(\w+_id):\s*(\d+)$", info.read_text(), re.M):
                if kind in KINDS:
                    ids[KINDS[kind]].add(int(number))
    return ids


def bpf_ids(command):
    """Those of one kind that the kernel holds."""
    libc = ctypes.CDLL(None, use_errno=True)
    ids, attr = set(), (ctypes.c_uint32 * 32)()
    while libc.syscall(321, command, attr, ctypes.sizeof(attr)) == 0:
        ids.add(attr[1])
        attr[0] = attr[1]
    return ids


@pytest.mark.needs("path of its own")
@pytest.mark.parametrize("number", [pytest.param(signal.SIGINT, marks=pytest.mark.thorough), pytest.param(signal.SIGKILL, marks=pytest.mark.core)])
def test_nothing_is_left_behind(number):
    with Live(["t:sched:sched_switch", f"{CALLS}:leaf"]) as tool:
        made = ids_of(tool.pid)
        assert all(made.values()), made
        tool.send(number)
        tool.wait()
    wait_until(lambda: not any(bpf_ids(command) & ids for command, ids in made.items()), "programs, maps or links are still there")
