# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files of others are opened and read by helper processes. One that dies or hangs costs what it was
asked for, and neither a hit nor the run."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from hostile_elf import named, with_link
from processes import FINDER, PARSER, ZYGOTE, helpers, statuses, wait_for_ends, zygote_of
from tool import GETPPID, Live, read_folded, wait_until, workload_path
from unwinding import DWARF, needs_unwinding
from waiting import go_on, wait_again, wait_until_it_waits, waiting

pytestmark = needs_unwinding
SYSTEM_WIDE = [*DWARF, "-U", "-f", GETPPID]
FRESH = f"fresh{os.getpid()}"  # no other process of the machine has this name


def new_program(folder, name=FRESH):
    """A program without frame pointers, whose file nobody has seen yet."""
    return shutil.copy(workload_path("syscalls-nofp"), folder / name)


def count(result, name):
    """Hits of the programs called @name, in stacks of any kind."""
    return sum(n for parts, n in read_folded(result.out) if parts[0] == name)


@pytest.fixture
def held(tmp_path):
    """held(NAME): the environment of a run whose helpers of that name wait from wait_again() on."""
    go_on(tmp_path)
    return lambda name: waiting(tmp_path, name)


@pytest.mark.parametrize("name", [FINDER, PARSER])
def test_a_helper_that_is_killed_costs_what_it_was_asked_for(tmp_path, workload, held, name):
    """For a library that a process loads. A finder's question is asked again, because no file ends a finder."""
    n = 300
    library = shutil.copy(workload_path("liblate-nofp.so"), tmp_path / "lost.so")
    work = workload("dl", library, n)
    with Live([*DWARF, "-U", "-f", "-p", work.pid, GETPPID], env=held(name)) as tool:
        work.go()
        work.wait_for("loading")
        wait_again(tmp_path)
        work.go()
        os.kill(wait_until_it_waits(tmp_path), signal.SIGKILL)
        go_on(tmp_path)
        work.finish()
        if name == PARSER:
            tool.wait_for("stderr", rb"^stackcount: lost.so has no unwind table: its reader was ended by signal 9 \(Killed\)$")
        result = tool.end().ok()
    assert result.lost == 0 and result.err.count("unwind table") == (name == PARSER), result
    ends = Counter()
    for parts, count in read_folded(result.out):
        ends["cut" if any(part.startswith("[cut") for part in parts) else parts[-1]] += count
    assert ends == {"hit": n, "cut" if name == PARSER else "late_hit": n}, result


@pytest.mark.parametrize("name", [ZYGOTE, FINDER, PARSER])
def test_a_helper_that_hangs_holds_up_neither_hits_nor_the_end(tmp_path, workload, held, name):
    with Live([*SYSTEM_WIDE, "-P", "-i", "0.2"], env=held(name)) as tool:
        if name == ZYGOTE:
            os.kill(zygote_of(tool), signal.SIGSTOP)
        else:
            wait_again(tmp_path)
        work = workload(new_program(tmp_path), "getppid", 1000, 500)
        n = sum(work.run().values())
        tool.wait_for("stdout", f"^{FRESH};".encode())
        result = tool.end().ok()
    assert count(result, FRESH) == n and (name == ZYGOTE or list(tmp_path.glob("waits.*"))), result


def test_without_a_zygote_the_run_goes_on_and_says_what_is_lost(tmp_path, workload):
    with Live([*SYSTEM_WIDE, "-P"]) as tool:
        zygote = zygote_of(tool)
        handle = os.pidfd_open(zygote)
        os.kill(zygote, signal.SIGKILL)
        wait_for_ends([handle])
        work = workload(new_program(tmp_path), "getppid", 1000, 500)
        n = sum(work.run().values())
        tool.wait_for("stderr", rb"no helper: the process that makes them has ended$")
        result = tool.end().ok()
    # For tables, for what processes have mapped, and for names if any file was found.
    assert result.err.count("no helper") in (2, 3), result
    assert count(result, FRESH) == n, result


def is_handle(link):
    """Was it opened by O_PATH? Such a descriptor reads nothing."""
    flags = re.search(r"^flags:\s*([0-7]+)$", (link.parents[1] / "fdinfo" / link.name).read_text(), re.M)[1]
    return bool(int(flags, 8) & os.O_PATH)


FINDERS_MAY = 1 << 19 | 1 << 2 | 1 << 40  # SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE
OWN = ("socket:", "/memfd:area", "anon_inode:[signalfd]")


def masks(pid):
    """The capabilities of process @pid, and how it is kept from having others."""
    (status,) = statuses(pid)
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2"), status
    return {int(status[kind], 16) for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb")}


def links_of(pid):
    """What it has open, but handles."""
    return {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if not is_handle(link)}


def test_helpers_hold_nothing_of_ours_may_what_they_need_and_end_with_us(tmp_path, workload, held):
    """Nor of who started the run: a file is open there, also far up."""
    (tmp_path / "secret").touch()
    wrap = ["bash", "-c", 'exec 9<"$0" 200<"$0"; exec "$@"', tmp_path / "secret"]
    with Live([*SYSTEM_WIDE, "-P", "-i", "0.2"], wrap=wrap, env=held(FINDER)) as tool:
        assert all("secret" in os.readlink(f"/proc/{tool.pid}/fd/{fd}") for fd in (9, 200))
        wait_again(tmp_path)
        work = workload(new_program(tmp_path), "getppid", 1, 0)
        finder, zygote = wait_until_it_waits(tmp_path), zygote_of(tool)
        for pid in (finder, zygote):
            assert masks(pid) == {FINDERS_MAY, 0}
            assert not [link for link in links_of(pid) if not link.startswith(OWN)]
        handles = [os.pidfd_open(pid) for pid in (finder, zygote)]
        work.close()
        tool.process.kill()
        wait_for_ends(handles)


def test_a_parser_at_work_holds_its_files_alone_and_may_nothing(tmp_path, workload):
    program, debug = with_link(tmp_path / "linked", "long.debug"), named(tmp_path / "long.debug", "name", size=1 << 30)
    work = workload("stranger", "map", 5, program)
    with Live(["--unwind", "fp", "-U", "-f", "-P", "-i", "0.2", "-p", work.pid, GETPPID]) as tool:
        work.go()
        work.wait_for("placed")
        work.run()

        def reading():
            """A parser that has given up its rights, and reads the debug file."""
            for pid in helpers(zygote_of(tool)):
                with suppress(OSError):
                    if str(debug) in links_of(pid) and masks(pid) == {0}:
                        return pid
            return None

        pid = wait_until(reading, "nobody reads it")
        with suppress(FileNotFoundError):  # it has ended meanwhile
            assert links_of(pid) == {"/memfd:area (deleted)", str(debug), str(program)}
        handle = os.pidfd_open(pid)
        tool.process.kill()
        wait_for_ends([handle])


def test_the_main_process_opens_no_file_of_others(tmp_path, workload):
    """Nor maps one, though it names their functions, by debug files and by a perf map."""
    work = workload(new_program(tmp_path), "getppid", 1000, 500)
    jit = workload("jit", "=0:first", "@0:30")
    log = tmp_path / "log"
    strace = ("strace", "-D", "--seccomp-bpf", "-f", "-o", log, "-e", "trace=open,openat,openat2,prctl")
    with Live(["-U", "-f", "--lines", "-p", f"{work.pid},{jit.pid}", GETPPID, "-i", "0.2"], wrap=strace) as tool:
        work.run()
        jit.run()
        tool.wait_for("stdout", rb";hit .*\d+$")
        mapped = Path(f"/proc/{tool.pid}/maps").read_text()
        tool.end().ok()
    own = {str(tmp_path / FRESH), "perf-", "/usr/lib/debug", workload_path("jit")}
    assert not [name for name in own if name in mapped], mapped
    may_read = rf"/proc/({work.pid}|{jit.pid})/(comm|status|stat)\""
    lines = [line.split(maxsplit=1) for line in log.read_text(errors="replace").splitlines()]
    helping = {pid for pid, call in lines if re.match(r"prctl\(PR_SET_NAME, \"file-(zygote|finder|parser)\"", call)}
    opened = [call for pid, call in lines if call.startswith("open") and pid not in helping]
    assert len(opened) > 10 and len(helping) > 2, lines
    assert not [call for call in opened if any(name in call for name in own)], opened
    assert not [call for call in opened if re.search(rf"/proc/({work.pid}|{jit.pid})/", call) and not re.search(may_read, call)], opened


@pytest.fixture
def public_folder():
    """Where any user may open files."""
    folder = Path(tempfile.mkdtemp(prefix="stackcount-test-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.needs("uprobes")
def test_a_user_sees_programs_that_have_his_capabilities(public_folder):
    """As a command has them that he gives by ambient ones. Without SYS_PTRACE the kernel compares a finder's with its."""
    more = "+bpf,+perfmon"
    as_user = ("setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", more, "--ambient-caps", more)
    path = shutil.copy(workload_path("calls-nofp"), public_folder)
    with subprocess.Popen([*as_user, path, "--wait", "5", "3", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as work:
        assert work.stdout.readline().startswith(b"ready ")
        with Live([*DWARF, "-U", "-f", "-p", work.pid, f"{path}:leaf*"], wrap=as_user) as tool:
            assert masks(zygote_of(tool)) == {0xC0 << 32, 0}
            work.stdin.write(b"\n")
            work.stdin.flush()
            while not work.stdout.readline().startswith(b"done"):
                pass
            result = tool.end().ok()
        work.stdin.close()
    stacks = read_folded(result.out)
    assert sum(count for _, count in stacks) == 5 + 3 + 2 + 1, result
    assert all(parts[0] == "_start" for parts, _ in stacks), result
