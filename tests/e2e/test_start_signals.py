# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Signals that come before counting has begun: to the tool, and by Ctrl-C to its whole group."""

import os
import re
import signal

import pytest
from processes import PARSER
from tool import GETPPID, Tool, workload_path
from waiting import go_on, wait_until_it_waits, waiting


@pytest.fixture
def start(tmp_path, workload):
    """start(OPTION...): a run that waits for the tables of a process."""
    work = workload("syscalls", "getppid", 1, 0)
    environment = waiting(tmp_path, PARSER)
    return lambda *options: Tool(["--unwind", "dwarf", "-p", work.pid, *options, GETPPID], env=environment)


@pytest.mark.needs("unwinding")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT], ids=lambda n: n.name)
def test_the_first_signal_ends_a_start_that_waits_for_tables(tmp_path, start, number):
    """As shells do for what they start with "&", interrupts are ignored."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        tool = start()
    finally:
        signal.signal(signal.SIGINT, before)
    with tool:
        wait_until_it_waits(tmp_path)
        tool.send(number)
        result = tool.wait()
    assert result.status == -number and result.out == "", result


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTSTP], ids=lambda n: n.name)
def test_a_signal_to_the_group_while_the_command_is_looked_for(tmp_path, number):
    command = [workload_path("syscalls"), "--quiet", "getppid", "7", "0"]
    with Tool(["-f", "-U", GETPPID, "--", *command], env=waiting(tmp_path, "command"), start_new_session=True) as tool:
        wait_until_it_waits(tmp_path)
        os.killpg(tool.process.pid, number)
        go_on(tmp_path)
        os.killpg(tool.process.pid, signal.SIGCONT)
        result = tool.wait().ok()
    if number == signal.SIGINT:  # of the command, too: it may be dying while the tool says how it is
        assert re.search(r"syscalls' (was ended by signal 2|is still running)", result.err), result
    else:
        assert "exited with status 0" in result.err and "hit 7" in result.out, result
