# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""File systems that stop answering after the run has begun: its command hangs, and the run does not."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from processes import children
from silent import mortal_fuse
from tool import GETPPID, PATIENCE_S, Tool, read_folded, wait_until, workload_path
from unwinding import DWARF, needs_unwinding

pytestmark = [pytest.mark.thorough, needs_unwinding]

EXECVE = "59"


def calls_of_children(pid):
    """Numbers of the system calls that the children of process @pid are in."""
    found = set()
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        with suppress(FileNotFoundError, ProcessLookupError):
            found.add(Path(f"/proc/{child}/syscall").read_text().split()[0])
    return found


def test_a_dynamic_linker_that_hangs_does_not_hold_up_the_run(tmp_path):
    """The linker is a file of a server that has stopped."""
    program, source = tmp_path / "program", tmp_path / "program.c"
    source.write_text("#include <unistd.h>\nint main(void) { return getppid() == 0; }\n")
    subprocess.run(["gcc", "-o", program, source, f"-Wl,--dynamic-linker={tmp_path}/fuse/file"], check=True, timeout=PATIENCE_S)
    linker = re.search(r"interpreter: (\S+)\]", subprocess.run(
        ["readelf", "-lW", workload_path("syscalls")], check=True, capture_output=True, text=True, timeout=PATIENCE_S).stdout)[1]
    args = [*DWARF, "-f", "-U", "--debug", GETPPID, "--", program]
    with mortal_fuse(tmp_path, os.path.realpath(linker)) as server:
        server.die()
        with Tool(args, wrap=("nsenter", "-t", str(server.pid), "-m")) as tool:
            try:
                tool.wait_for("stderr", b"the command's libraries: its file system does not answer$")
                wait_until(lambda: EXECVE in calls_of_children(tool.pid), "it does not exec")
                tool.send(signal.SIGINT)
                result = tool.wait().ok()
            finally:
                server.close()  # or nothing ends who waits for it
    assert "before it began: its file system may not answer" in result.err, result


CALLER = "import os, sys; print('ready', flush=True)\nfor line in sys.stdin: [os.getpgrp() for _ in range(1000)]; print('done', flush=True)"


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
