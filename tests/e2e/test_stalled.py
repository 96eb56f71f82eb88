# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whoever reads the output may stop for as long as it likes: what processes do is followed, and hits are counted."""

import fcntl
import os
import re
import select
from collections import Counter

import pytest
from tool import GETPPID, PATIENCE_S, Tool, Unaccounted, own_copy, read_folded, user_chain

pytestmark = pytest.mark.walk("fp")

NAME = str(os.getpid())  # which the names of files end with
DISTINCT = re.compile(r"main;work_run;run;((zero|one);)+hit")


@pytest.fixture
def distinct(workload, tmp_path):
    return workload(own_copy("ladder", tmp_path, "dis"), 18, 2000, 1)


def chains_of(text, comm):
    """{chain: hits} of that program, in lines that begin with a name."""
    found = Counter()
    for parts, n in read_folded(text):
        if parts[0] == comm + NAME:
            found[user_chain(parts)] += n
    return found


def check_distinct(result, text):
    found = chains_of(text, "dis")
    if sum(found.values()) != 2000 or not all(map(DISTINCT.fullmatch, found)):
        raise Unaccounted(f"{sum(found.values())} of 2000: {result!r}")


@pytest.mark.needs("unwinding")
@pytest.mark.walk("dwarf")
def test_programs_that_begin_while_nobody_reads_are_walked_by_tables(workload, distinct, tmp_path):
    """
    Nobody has seen their file before. The first ones may be ahead of its tables, but not all are. The report of 2,000 stacks
    does not fit into the pipe.
    """
    program = own_copy("syscalls-nofp", tmp_path, "new")
    with Tool(["-f", "-P", "-U", "-i", "0.1", GETPPID], reads_later=True) as tool:
        fcntl.fcntl(tool.process.stdout, fcntl.F_SETPIPE_SZ, 4096)
        tool.wait_live()
        distinct.run()
        assert select.select([tool.process.stdout], [], [], PATIENCE_S)[0], "nothing was printed"
        for _ in range(10):
            with workload(str(program), "getppid", 100, 50) as one:
                tool.drain()
                expected = one.run()
        tool.read_now()
        result = tool.end().ok()
    found = chains_of(result.out, "new")
    assert expected and all(found[chain] >= n for chain, n in expected.items()), found
    check_distinct(result, result.out)
