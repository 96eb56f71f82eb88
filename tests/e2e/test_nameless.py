# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames that nothing seems to name have names after all, or standard error gives the reason."""

import os
import subprocess
import sys

import pytest
from processes import children
from silent import mortal_fuse
from tool import GETPPID, PATIENCE_S, Tool, read_folded
from unwinding import DWARF, needs_unwinding

FOLDED = ("-f", "-U")


def build(path, source, *options):
    subprocess.run(["gcc", "-O2", "-o", path, "-xc", "-", *options], input=source, text=True, check=True, timeout=PATIENCE_S)
    return path


# --- code in another place than its file ---

COPIED = """
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
enum { PAGE = 4096 };
static volatile int calls;
__attribute__((noinline, aligned(4096))) void tick(void) { calls += getppid(); }
__attribute__((noinline, aligned(4096))) void behind(void) { calls++; }
int main(void)
{
	static char copy[PAGE];

	behind();
	memcpy(copy, (void *)tick, PAGE);
	mmap((void *)tick, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	memcpy((void *)tick, copy, PAGE);
	mprotect((void *)tick, PAGE, PROT_READ | PROT_EXEC);
	puts("ready");
	fflush(stdout);
	getchar();
	for (int i = 0; i < 100; i++)
		tick();
	return 0;
}
"""
COPY_WORDS = "frames in anonymous memory, where the code of copied was mapped, have no names (was it copied to huge pages?)"


def test_code_that_the_program_has_copied_to_anonymous_memory_is_told(tmp_path):
    program = build(tmp_path / "copied", COPIED, "-Wno-unused-result")
    with subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout.readline() == b"ready\n"
        with Tool([*FOLDED, "-p", process.pid, GETPPID]) as tool:
            tool.wait_live()
            process.communicate(b"\n")
            result = tool.wait().ok()
    assert result.err.count(COPY_WORDS) == 1 and "[unknown]" in result.out, result


# --- files that may not be opened ---

GROUPS = "import os, sys; print('ready', flush=True)\nfor line in sys.stdin: [os.getpgrp() for _ in range(1000)]; print('done', flush=True)"


@needs_unwinding
@pytest.mark.needs("fuse")
def test_a_file_system_that_refuses_root_is_the_reason(tmp_path):
    """FUSE without allow_other is for the one who mounted it."""
    with mortal_fuse(tmp_path, os.path.realpath(sys.executable), ["{}", "-c", GROUPS], how="private") as work:
        pid = next(int(pid) for name, pid in children(work.pid).items() if name != "setpriv")
        with Tool([*DWARF, *FOLDED, "-p", pid, "t:syscalls:sys_enter_getpgrp"]) as tool:
            tool.wait_live()
            work.go()
            work.wait_for("done")
            result = tool.end().ok()
    assert sum(n for _, n in read_folded(result.out)) == 1000, result
    assert result.err.count("no symbols and no unwind table for file: Permission denied (FUSE without allow_other") == 1, result
