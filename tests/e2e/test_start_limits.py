# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What files named on the command line may cost before counting begins: a bounded time, and an error that names them."""

import contextlib
import os
import re
import signal
import time
from pathlib import Path

import pytest
from contained import Contained
from kernel import WITH_TRACEFS
from processes import children, open_files, statuses
from silent import dead_fuse, status_of
from tool import GETPPID, STACKCOUNT, Live, read_folded, wait_until


@pytest.mark.thorough
@pytest.mark.parametrize("how, args, named", [
    ("dead", "u:{}/file:probe", "{}/file"),
    ("lookup", "-l {}/file:func", "{}/file"),
    ("dead", f"{GETPPID} -- {{}}/file", "command '{}/file'"),
    ("lookup", f"{GETPPID} -- file", "command 'file'"),
])
def test_a_file_system_that_does_not_answer_is_an_error(tmp_path, how, args, named):
    """For events, and for a command by its path or by that of the shell."""
    command = ["env", f"PATH={tmp_path}:{os.environ['PATH']}", STACKCOUNT, *args.format(tmp_path).split()]
    with dead_fuse(tmp_path, *command, how=how) as server:
        assert status_of(server) == 1
        server.stdin.close()
        assert server.stderr.read() == f"stackcount: {named.format(tmp_path)}: its file system does not answer\n"


GIVES_UP_S = 5
ASIDE = "this file may hang, so another process attaches its probes"


def reader_of(tool, path):
    """Its process that has the file open. Others come and go."""
    for pid in Path(f"/proc/{tool}/task/{tool}/children").read_text().split():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if path in open_files(pid):
                return int(pid)
    return None


def test_a_signal_ends_the_waiting_for_a_file_system(tmp_path):
    began = time.monotonic()
    with dead_fuse(tmp_path, STACKCOUNT, f"{tmp_path}/file:func") as server:
        wait_until(lambda: "stackcount" in children(server.pid), "it does not begin")
        tool = children(server.pid)["stackcount"]
        # Its process that reads the file waits for ever: a call that nothing interrupts, or may.
        wait_until(lambda: reader_of(tool, f"{tmp_path}/file"), "nobody reads the file")
        reader = reader_of(tool, f"{tmp_path}/file")
        assert sorted(open_files(reader)[:2]) == ["/dev/null"] * 2 and len(open_files(reader)) == 5
        (status,) = statuses(reader)
        # SYS_PTRACE, DAC_READ_SEARCH, CHECKPOINT_RESTORE
        assert int(status["CapPrm"], 16) == int(status["CapEff"], 16) == 1 << 19 | 1 << 2 | 1 << 40
        assert int(status["CapBnd"], 16) == 0 and status["NoNewPrivs"] == "1" and status["Seccomp"] == "2"
        is_late = time.monotonic() - began > GIVES_UP_S - 1  # on a busy machine it may give up by itself, with an error
        with contextlib.suppress(ProcessLookupError):
            os.kill(tool, signal.SIGTERM)
        status = status_of(server)
        server.stdin.close()
        gave_up = "its file system does not answer" in server.stderr.read()
    assert (status, gave_up) == (-signal.SIGTERM, False) or (is_late and (status, gave_up) == (1, True))


@pytest.mark.needs("path of its own", "uprobes")
@pytest.mark.parametrize("options", [pytest.param([], marks=pytest.mark.core), pytest.param(["--without", "uprobe.multi"], marks=pytest.mark.thorough)],
                         ids=["any", "single"])
def test_probes_in_the_root_of_a_process_are_put_there_by_another_process(tmp_path, options):
    """It may put another file there."""
    patterns = ["/bin/program:leaf", "/bin/program:middle"]
    with Contained("calls", tmp_path, 1000, 300, 0) as work:
        with Live(["-f", "-U", "--debug", *options, "-p", work.pid, *patterns], wrap=WITH_TRACEFS) as tool:
            work.run()
            result = tool.end().ok()
    assert result.lost == 0 and re.search(f"/root/bin/program: {ASIDE}", result.err), result
    assert sum(n for _, n in read_folded(result.out)) == 1000 + 300 + 300, result
