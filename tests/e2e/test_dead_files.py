# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""File systems that stop answering after the run has begun: its command hangs, and the run does not."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from processes import children
from silent import dead_fuse, mortal_fuse, status_of
from tool import GETPPID, PATIENCE_S, STACKCOUNT, Tool, preloaded, read_folded, wait_until, workload_path
from unwinding import DWARF, needs_unwinding
from waiting import WAITING, WAITING_EXEC

pytestmark = pytest.mark.thorough

EXECVE = "59"
ENDED = "before it began: its file system may not answer"


@contextlib.contextmanager
def tool_beside(server, folder, instead, *args):
    """The tool, where the server's file is, with functions of its own (preloaded())."""
    env = preloaded(folder, instead)
    more = [f"{name}={env[name]}" for name in ("LD_PRELOAD", "MARK")]
    with Tool(args, wrap=("nsenter", "-t", str(server.pid), "-m", "env", *more)) as tool:
        try:
            yield tool
        finally:
            server.close()  # or nothing ends who waits for it


def calls_of_children(pid):
    """Numbers of the system calls that the children of process @pid are in."""
    found = set()
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):
            found.add(Path(f"/proc/{child}/syscall").read_text().split()[0])
    return found


def test_a_command_that_hangs_in_its_exec_does_not_hold_up_the_end(tmp_path):
    with mortal_fuse(tmp_path, workload_path("syscalls")) as server:
        args = ["-f", "-U", GETPPID, "--", f"{tmp_path}/fuse/file", "--quiet", "getppid", "7", "0"]
        with tool_beside(server, tmp_path, WAITING_EXEC, *args) as tool:
            tool.wait_for("stderr", b"^waits$")
            server.die()
            (tmp_path / "go").touch()
            wait_until(lambda: EXECVE in calls_of_children(tool.pid), "it does not exec")
            tool.send(signal.SIGINT)
            result = tool.wait().ok()
    assert ENDED in result.err, result


def test_time_is_up_while_a_command_hangs_in_its_exec(tmp_path):
    with mortal_fuse(tmp_path, workload_path("syscalls")) as server:
        args = ["-f", "-U", "-D", "1", GETPPID, "--", f"{tmp_path}/fuse/file", "--quiet", "getppid", "7", "0"]
        with tool_beside(server, tmp_path, WAITING_EXEC, *args) as tool:
            tool.wait_for("stderr", b"^waits$")
            server.die()
            (tmp_path / "go").touch()
            result = tool.wait().ok()
    assert ENDED in result.err, result


# The tool, when the command is stopped behind its exec and has not been looked at.
WAITING_TRACER = WAITING + r"""
#include <stdarg.h>
#include <sys/ptrace.h>

long ptrace(enum __ptrace_request request, ...)
{
	static int n_peeks;
	long a[3], value = 0;
	va_list list;

	va_start(list, request);
	for (int i = 0; i < 3; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (request != PTRACE_PEEKUSER)
		return syscall(SYS_ptrace, request, a[0], a[1], a[2]);
	if (n_peeks++ == 0)
		wait_here("stopped\n");
	return syscall(SYS_ptrace, request, a[0], a[1], &value) < 0 ? -1 : value;
}
"""


@needs_unwinding
def test_a_dynamic_linker_that_hangs_does_not_hold_up_the_run(tmp_path):
    """The command has been executed, and its linker is a file of a server that stops then."""
    program, source = tmp_path / "program", tmp_path / "program.c"
    source.write_text("#include <unistd.h>\nint main(void) { return getppid() == 0; }\n")
    subprocess.run(["gcc", "-o", program, source, f"-Wl,--dynamic-linker={tmp_path}/fuse/file"], check=True, timeout=PATIENCE_S)
    linker = re.search(r"interpreter: (\S+)\]", subprocess.run(
        ["readelf", "-lW", workload_path("syscalls")], check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout)[1]
    with mortal_fuse(tmp_path, os.path.realpath(linker)) as server:
        with tool_beside(server, tmp_path, WAITING_TRACER, *DWARF, "-f", "-U", "--debug", GETPPID, "--", program) as tool:
            tool.wait_for("stderr", b"^stopped$")
            server.die()
            (tmp_path / "go").touch()
            tool.wait_for("stderr", b"the command's dynamic linker: its file system does not answer$")
            tool.send(signal.SIGINT)
            tool.wait().ok()


CALLER = "import os, sys; print('ready', flush=True)\nfor line in sys.stdin: [os.getpgrp() for _ in range(1000)]; print('done', flush=True)"


@needs_unwinding
def test_a_slow_file_system_does_not_hold_up_the_start(tmp_path):
    """The program's file takes 3 s for each piece that a parser reads. Nothing of other processes is lost meanwhile."""
    with mortal_fuse(tmp_path, os.path.realpath(sys.executable), ["{}", "-c", CALLER]) as work:
        work.slow()
        pid = next(int(pid) for name, pid in children(work.pid).items() if name != "setpriv")
        with Tool([*DWARF, "-f", "-U", "-p", pid, "t:syscalls:sys_enter_getpgrp"]) as tool:
            # On a busy machine, an opener's 2 s may be over first. Then nobody waits for the file.
            tool.wait_for("stderr", b"files of traced processes are slow to read|a file system does not answer")
            tool.wait_live()
            work.go()
            work.wait_for("done")
            result = tool.end().ok()
    assert result.lost == 0 and "process records" not in result.err, result
    assert sum(n for _, n in read_folded(result.out)) == 1000, result


def waits_for(pid, number):
    """Has it not taken that signal yet?"""
    pending = re.search(r"^ShdPnd:\s*(\w+)", Path(f"/proc/{pid}/status").read_text(), re.M)[1]
    return bool(int(pending, 16) & 1 << (number - 1))


@needs_unwinding
def test_a_constructor_that_hangs_does_not_hold_up_the_end(tmp_path):
    """A library's: these run before the program's own first instruction."""
    library, program, folder = tmp_path / "libhang.so", tmp_path / "program", tmp_path / "dead"
    folder.mkdir()
    (tmp_path / "hang.c").write_text(
        f'#include <fcntl.h>\n__attribute__((constructor)) void hang(void) {{ open("{folder}/file", O_RDONLY); }}\n')
    (tmp_path / "program.c").write_text("extern void hang(void);\nint main(void) { hang(); return 0; }\n")
    for command in (["gcc", "-shared", "-fPIC", "-o", library, tmp_path / "hang.c"],
                    ["gcc", "-o", program, tmp_path / "program.c", library]):
        subprocess.run(command, check=True, timeout=PATIENCE_S)
    with dead_fuse(folder, STACKCOUNT, *DWARF, "-U", GETPPID, "--", program, options=["--lookup"]) as server:
        wait_until(lambda: "stackcount" in children(server.pid), "it does not begin")
        tool = children(server.pid)["stackcount"]
        wait_until(lambda: "program" in children(tool), "the command does not begin")
        command = children(tool)["program"]
        wait_until(lambda: waits_for(command, signal.SIGSTOP), "it is not to stop")
        os.kill(tool, signal.SIGINT)
        assert status_of(server) == 0
        server.stdin.close()
        assert ENDED in server.stderr.read()
