"""The tool's own use of CPU time, memory and priority."""

import os
from pathlib import Path

import pytest
from tool import Tool

pytestmark = pytest.mark.needs("machine", "unwinding")

NICE = 16  # of the fields of /proc/PID/stat behind the name


@pytest.mark.walk("dwarf")
def test_it_keeps_the_priority_it_was_given():
    with Tool(["t:syscalls:sys_enter_sethostname"], wrap=["nice", "-n", "7"]) as tool:
        tool.wait_live()
        stats = [path.read_text() for path in Path(f"/proc/{tool.pid}/task").glob("*/stat")]
        given = {stat.rsplit(")", 1)[1].split()[NICE] for stat in stats}
        assert len(stats) > 1 and given == {str(min(os.nice(0) + 7, 19))}
        tool.end()
