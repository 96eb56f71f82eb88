# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files of others are opened and read by helper processes. One that dies or hangs costs what it was
asked for, and neither a hit nor the run."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

import pytest
from processes import OPENER, PARSER, WARDEN, helpers, is_asked, statuses, wait_for_ends
from tool import GETPPID, Live, read_folded, user_chain, wait_until, workload_path
from unwinding import DWARF, needs_unwinding

pytestmark = needs_unwinding
SYSTEM_WIDE = [*DWARF, "-U", "-f", GETPPID]


def new_program(folder, name="fresh"):
    """A program without frame pointers, whose file nobody has seen yet."""
    return shutil.copy(workload_path("syscalls-nofp"), folder / name)


def count(result, name):
    """Hits of the programs called @name, in stacks of any kind."""
    return sum(n for parts, n in read_folded(result.out) if parts[0] == name)


def check_hits(result, name, expected):
    """The program called @name has all of its hits, in whole stacks."""
    found = Counter()
    for parts, n in read_folded(result.ok().out):
        if parts[0] == name:
            found[user_chain(parts)] += n
    assert found == expected, result


def expect_whole_again(tool, workload, path):
    work = workload(path, "getppid", 1000, 500)
    tool.drain()
    return work.run()


@pytest.mark.parametrize("name", [OPENER, PARSER])
def test_a_helper_that_is_killed_is_replaced(tmp_path, workload, name):
    with Live([*SYSTEM_WIDE, "-P"]) as tool:
        former = helpers(tool.pid)[name]
        handle = os.pidfd_open(former)
        os.kill(former, signal.SIGKILL)
        wait_for_ends([handle])  # on a busy machine it might answer before
        expected = expect_whole_again(tool, workload, new_program(tmp_path))
        wait_until(lambda: helpers(tool.pid).get(name, former) != former, "it is not replaced")
        result = tool.end()
    check_hits(result, "fresh", expected)
    assert "unwind table" not in result.err


def test_a_parser_that_dies_costs_the_table_of_its_file(tmp_path, workload):
    """A library that a process loads while the parser is stopped."""
    n = 1000
    library = shutil.copy(workload_path("liblate-nofp.so"), tmp_path / "lost.so")
    work = workload("dl", library, n)
    with Live([*DWARF, "-U", "-f", "-p", work.pid, GETPPID]) as tool:
        work.go()
        work.wait_for("loading")
        parser = helpers(tool.pid)[PARSER]
        os.kill(parser, signal.SIGSTOP)
        work.go()
        wait_until(lambda: is_asked(parser), "the parser is not asked")
        work.finish()
        os.kill(parser, signal.SIGKILL)
        tool.wait_for("stderr", rb"^stackcount: lost.so has no unwind table: its reader was ended by signal 9 \(Killed\)$")
        result = tool.end().ok()
    assert result.lost == 0 and result.err.count("unwind table") == 1, result
    stacks = read_folded(result.out)
    is_cut = [any(part.startswith("[cut") for part in parts) for parts, _ in stacks]
    assert sum(count for (_, count), cut in zip(stacks, is_cut) if cut) == n, result
    assert sum(count for (parts, count), cut in zip(stacks, is_cut) if not cut and parts[-1] == "hit") == n, result


@pytest.mark.parametrize("name", [OPENER, PARSER])
def test_a_helper_that_hangs_holds_up_neither_hits_nor_the_end(tmp_path, workload, name):
    with Live([*SYSTEM_WIDE, "-P", "-i", "0.2"]) as tool:
        os.kill(helpers(tool.pid)[name], signal.SIGSTOP)
        work = workload(new_program(tmp_path), "getppid", 1000, 500)
        n = sum(work.run().values())
        tool.wait_for("stdout", rb"^fresh;")
        result = tool.end().ok()
    assert count(result, "fresh") == n, result


def test_without_a_warden_the_run_goes_on_and_says_what_is_lost(tmp_path, workload):
    with Live([*SYSTEM_WIDE, "-P"]) as tool:
        all_of_them = helpers(tool.pid)
        handles = [os.pidfd_open(pid) for pid in all_of_them.values()]
        os.kill(all_of_them[WARDEN], signal.SIGKILL)
        wait_for_ends(handles)  # with the warden; on a busy machine they might answer before
        work = workload(new_program(tmp_path), "getppid", 1000, 500)
        n = sum(work.run().values())
        tool.wait_for("stderr", rb"no helper: the process that makes them has ended$")
        result = tool.end().ok()
    # For tables, for what processes have mapped, and for names if any file was found.
    assert result.err.count("no helper") in (2, 3), result
    assert count(result, "fresh") == n, result


def is_handle(link):
    """Was it opened by O_PATH? Such a descriptor reads nothing."""
    flags = re.search(r"^flags:\s*([0-7]+)$", (link.parents[1] / "fdinfo" / link.name).read_text(), re.M)[1]
    return bool(int(flags, 8) & os.O_PATH)


def numbers(pid):
    """Of the descriptors of process @pid."""
    return {int(fd) for fd in os.listdir(f"/proc/{pid}/fd")}


OPENERS_MAY = 1 << 19 | 1 << 2 | 1 << 40  # SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE


def test_helpers_hold_nothing_of_ours_may_what_they_need_and_end_with_us(tmp_path):
    """Nor of who started the run: a file is open there, also far up."""
    (tmp_path / "secret").touch()
    with Live(SYSTEM_WIDE, wrap=["bash", "-c", 'exec 9<"$0" 200<"$0"; exec "$@"', tmp_path / "secret"]) as tool:
        assert all("secret" in os.readlink(f"/proc/{tool.pid}/fd/{fd}") for fd in (9, 200))
        all_of_them = helpers(tool.pid)
        assert {WARDEN, OPENER, PARSER} <= set(all_of_them)
        for name, pid in all_of_them.items():
            (status,) = statuses(pid)
            masks = {int(status[kind], 16) for kind in ("CapPrm", "CapEff", "CapInh", "CapAmb")}
            assert not [mask for mask in masks if mask & ~(0 if name.endswith("parser") else OPENERS_MAY)], (name, status)
            assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "0" if name == WARDEN else "2"), (name, status)
            links = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if not is_handle(link)}
            own = {link for link in links if link.startswith(("socket:", "/memfd:area", "anon_inode:[signalfd]", "anon_inode:[pidfd]", "pidfd:"))}
            assert links == own, name
            if name.endswith("opener"):  # numbers below 64 are ours, so that no file has one
                assert numbers(pid) >= set(range(64)), name
            elif name.endswith("parser"):
                wait_until(lambda: numbers(pid) == set(range(6)), f"an idle {name} holds more")
        assert int(statuses(all_of_them[OPENER])[0]["CapEff"], 16) == OPENERS_MAY
        handles = [os.pidfd_open(pid) for pid in all_of_them.values()]
        tool.process.kill()
        wait_for_ends(handles)


NAMES_PARSER = "names-parser"


def is_naming(pid):
    """Does the main thread wait for a helper? Otherwise it waits by epoll."""
    time.sleep(0.01)
    return Path(f"/proc/{pid}/task/{pid}/syscall").read_text().split()[0] in ("7", "271")  # poll, ppoll


def test_a_parser_that_crashes_costs_no_names_that_are_known(workload):
    """And those that are not are read by the next one."""
    work = workload("syscalls-nofp", "getppid", 1000, 500)
    with Live([*DWARF, "-U", "-f", "-p", work.pid, GETPPID, "-i", "0.2"]) as tool:
        expected = work.run()
        tool.wait_for("stdout", rb";hit \d+$")
        os.kill(helpers(tool.pid)[NAMES_PARSER], signal.SIGSEGV)
        result = tool.end().ok()
    found = Counter()
    for parts, n in read_folded(result.out):
        found[user_chain(parts)] += n
    assert found == expected and result.lost == 0 and not re.search(r"no names|unknown", result.err), result


def test_a_parser_that_dies_costs_the_names_of_its_file(tmp_path, workload):
    """It is stopped when the report needs names. The count is there."""
    work = workload(new_program(tmp_path), "getppid", 1000, 500)
    other = workload("syscalls-nofp", "getppid", 10, 0)
    with Live(["-U", "-f", "-p", f"{work.pid},{other.pid}", GETPPID, "-i", "0.2"]) as tool:
        other.run()
        tool.wait_for("stdout", rb";hit \d+$")
        parser = helpers(tool.pid)[NAMES_PARSER]
        os.kill(parser, signal.SIGSTOP)
        n = sum(work.run().values())
        wait_until(lambda: all(is_naming(tool.pid) for _ in range(5)), "no name is asked for")
        os.kill(parser, signal.SIGKILL)
        tool.wait_for("stderr", rb"^stackcount: no symbols for .*: its reader was ended by signal 9 \(Killed\)$")
        result = tool.end().ok()
    assert sum(count for _, count in read_folded(result.out)) == n + 10 and result.lost == 0, result


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
    own = {str(tmp_path / "fresh"), "perf-", "/usr/lib/debug", workload_path("jit")}
    assert not [name for name in own if name in mapped], mapped
    may_read = rf"/proc/({work.pid}|{jit.pid})/(comm|status|stat)\""
    lines = [line.split(maxsplit=1) for line in log.read_text(errors="replace").splitlines()]
    helping = {pid for pid, call in lines if re.match(r"prctl\(PR_SET_NAME, \"\w+-(warden|opener|parser)\"", call)}
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
    """As a command has them that he gives by ambient ones. Without SYS_PTRACE the kernel compares an opener's with its."""
    more = "+bpf,+perfmon"
    as_user = ("setpriv", "--reuid", "65534", "--clear-groups", "--inh-caps", more, "--ambient-caps", more)
    path = shutil.copy(workload_path("calls-nofp"), public_folder)
    with subprocess.Popen([*as_user, path, "--wait", "5", "3", "2"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as work:
        assert work.stdout.readline().startswith(b"ready ")
        with Live([*DWARF, "-U", "-f", "-p", work.pid, f"{path}:leaf*"], wrap=as_user) as tool:
            may = {name: int(statuses(pid)[0]["CapPrm"], 16) for name, pid in helpers(tool.pid).items()}
            assert (may[PARSER], may[OPENER]) == (0, 0xC0 << 32), may
            work.stdin.write(b"\n")
            work.stdin.flush()
            while not work.stdout.readline().startswith(b"done"):
                pass
            result = tool.end().ok()
        work.stdin.close()
    stacks = read_folded(result.out)
    assert sum(count for _, count in stacks) == 5 + 3 + 2 + 1, result
    assert all(parts[0] == "_start" for parts, _ in stacks), result
