# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames that nothing seems to name have names after all, or standard error gives the reason."""

import os
import subprocess
import sys

import pytest
from processes import children
from silent import mortal_fuse
from tool import BUILD, GETPPID, PATIENCE_S, STACKCOUNT, Tool, read_folded, stackcount
from unwinding import DWARF, needs_unwinding

FOLDED = ("-f", "-U")


def build(path, source, *options):
    subprocess.run(["gcc", "-O2", "-o", path, "-xc", "-", *options], input=source, text=True, check=True, timeout=PATIENCE_S)
    return path


def subtract(after, before):
    return subprocess.run([STACKCOUNT, "--read", "-f", after, "--minus", before], capture_output=True, text=True, timeout=PATIENCE_S, check=True).stdout


# --- numbers of builds ---

NUMBERED = """
#include <unistd.h>
static volatile int depth;
void helper(void) __asm__("helper.llvm.NUMBER");
__attribute__((noinline)) void helper(void) { depth += getppid(); }
int main(void) { for (int i = 0; i < 100; i++) helper(); return 0; }
"""


def test_a_function_that_each_build_numbers_anew_is_one_row(tmp_path):
    """As clang's ThinLTO names them."""
    for number in ("2593025945976326257", "3516108466226808952"):
        (tmp_path / number).mkdir()
        program = build(tmp_path / number / "numbered", NUMBERED.replace("NUMBER", number))
        stackcount("-U", "-o", tmp_path / f"{number}.pb.gz", GETPPID, "--", program).ok()
    (row,) = subtract(*tmp_path.glob("*.pb.gz")).splitlines()
    assert row.endswith(" 100 100") and "main;helper;" in row, row


def test_a_pattern_matches_it_with_and_without_the_number(tmp_path):
    program = build(tmp_path / "numbered", NUMBERED.replace("NUMBER", "7"))
    result = stackcount(*FOLDED, f"{program}:helper", "--", program).ok()
    assert [(parts[-1], n) for parts, n in read_folded(result.out)] == [("helper", 100)], result
    assert len(stackcount("-l", f"{program}:helper.llvm.7").ok().out.splitlines()) == 1


# --- the vdso ---

CLOCK = """
#include <time.h>
int main(void) { struct timespec t; long sum = 0; for (int i = 0; i < 8000000; i++) { clock_gettime(CLOCK_MONOTONIC, &t); sum += t.tv_nsec; } return sum == 1; }
"""


def test_the_vdso_s_local_functions_are_told_by_their_places(tmp_path):
    result = stackcount(*FOLDED, "-F", "499", "--", build(tmp_path / "clock", CLOCK), program=BUILD / "profile").ok()
    inner = {}
    for parts, n in read_folded(result.out):
        if "main" in parts:
            inner[parts[-1]] = inner.get(parts[-1], 0) + n
    assert "[unknown]" not in inner and any("vdso" in name or "clock_gettime" in name for name in inner), result


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
