# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Signals that come before counting has begun: to the tool, and by Ctrl-C to its whole group."""

import os
import re
import signal
import subprocess
import time

import pytest
from tool import GETPPID, WAITING_PARSER, Tool, preloaded, wait_for_file, workload_path
from waiting import WAITING_EXEC


@pytest.mark.needs("unwinding")
def test_an_interrupt_that_a_shell_has_ignored_for_it_is_kept_for_the_report(tmp_path):
    """As shells do for what they start with "&"."""
    program = workload_path("syscalls")
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    with subprocess.Popen([program, "--wait", "getppid", "1", "0"], stdin=subprocess.PIPE) as process:
        try:
            tool = Tool(["--unwind", "dwarf", "-p", process.pid, GETPPID], env=preloaded(tmp_path, WAITING_PARSER))
            signal.signal(signal.SIGINT, before)
            with tool:
                wait_for_file(tmp_path / "waits")
                tool.send(signal.SIGINT)
                (tmp_path / "go").touch()
                result = tool.wait().ok()
        finally:
            signal.signal(signal.SIGINT, before)
            process.kill()
    assert "Tracing 1 functions" in result.out, result


@pytest.mark.thorough
@pytest.mark.needs("unwinding")
def test_the_duration_begins_when_the_tables_are_there(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as process:
        args = ["--unwind", "dwarf", "-p", process.pid, "-D", "1", GETPPID]
        with Tool(args, env=preloaded(tmp_path, WAITING_PARSER)) as tool:
            wait_for_file(tmp_path / "waits")
            time.sleep(1.5)
            (tmp_path / "go").touch()
            began = time.monotonic()
            tool.wait().ok()
            took = time.monotonic() - began
        process.kill()
    assert took >= 1, tool.so_far()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTSTP], ids=lambda n: n.name)
def test_a_signal_to_the_group_while_the_command_is_looked_for(tmp_path, number):
    env = preloaded(tmp_path, WAITING_EXEC)
    with Tool(["-f", "-U", GETPPID, "--", workload_path("syscalls"), "--quiet", "getppid", "7", "0"], env=env,
              start_new_session=True) as tool:
        tool.wait_for("stderr", b"^waits$")
        os.killpg(tool.process.pid, number)
        (tmp_path / "go").touch()
        os.killpg(tool.process.pid, signal.SIGCONT)
        result = tool.wait().ok()
    if number == signal.SIGINT:  # of the command, too: it may be dying while the tool says how it is
        assert re.search(r"syscalls' (was ended by signal 2|is still running)", result.err), result
    else:
        assert "exited with status 0" in result.err and "hit 7" in result.out, result
