# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whoever reads the output may stop for as long as it likes: what processes do is followed, and hits are counted."""

import fcntl
import os
import re
import select
import subprocess
from collections import Counter

import pytest
from tool import GETPPID, PATIENCE_S, Live, Tool, Unaccounted, own_copy, read_folded, scaled, user_chain

pytestmark = pytest.mark.walk("fp")

PROGRAMS = scaled(300, least=100)  # each with ten more: several times what there is room for
EACH = 10
RUN = 'n=$1; while [ $n -gt 0 ]; do n=$((n - 1)); "$2" 3; for i in $(seq $3); do /bin/true; done; done'
NAME = str(os.getpid())  # which the names of files end with
DISTINCT = re.compile(r"main;work_run;run;((zero|one);)+hit")


@pytest.fixture
def distinct(workload, tmp_path):
    return workload(own_copy("ladder", tmp_path, "dis"), 18, 2000, 1)


def run_programs(folder):
    """They end at once: their names are known by their records alone."""
    one = own_copy("lives-one", folder, "one")
    subprocess.run(["sh", "-ec", RUN, "sh", str(PROGRAMS), one, str(EACH)], check=True, timeout=4 * PATIENCE_S)


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


def check_programs(result, text):
    """Whoever reads no records meanwhile loses most of them, and so most names. Else all are there, or a loss is told."""
    n, made = chains_of(text, "one")["main;one_run;one_hit"], 3 * PROGRAMS
    if not 0 < n <= made or (n < made and not result.lost_records and not result.lost):
        raise Unaccounted(f"{n} of {made}: {result!r}")


def to_file(path):
    return ["sh", "-c", 'file=$1; shift; exec "$@" >"$file"', "sh", str(path)]


FULL = rb"^stackcount: write to standard output: No space left on device; still counting, the report waits for room$"


@pytest.mark.thorough
def test_intervals_on_a_full_disk(distinct, tmp_path, small_disk):
    """The report is whole once there is room."""
    disk = small_disk("128k")
    report, other = disk / "report", disk / "other"
    other.write_bytes(bytes(124 << 10))
    with Live(["-f", "-P", "-U", "-i", "0.1", GETPPID], wrap=to_file(report)) as tool:
        distinct.run()
        tool.wait_for("stderr", FULL)
        run_programs(tmp_path)
        subprocess.run(["mount", "-o", "remount,size=8m", disk], check=True)
        tool.drain()
        result = tool.end().ok()
    assert len(re.findall(FULL, result.stderr, re.M)) == 1, result.err
    check_programs(result, report.read_text())
    check_distinct(result, report.read_text())


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
