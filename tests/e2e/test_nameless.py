# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frames that nothing seems to name have names after all, or standard error gives the reason."""

import subprocess

import pytest
from pprof_file import PprofFile
from tool import BUILD, GETPPID, PATIENCE_S, STACKCOUNT, read_folded, stackcount

FOLDED = ("-f", "-U")


def build(path, source, *options):
    subprocess.run(["gcc", "-O2", "-o", path, "-xc", "-", *options], input=source, text=True, check=True, timeout=PATIENCE_S)
    return path


def chains_of(result):
    return {";".join(parts): n for parts, n in read_folded(result.out)}


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


@pytest.mark.parametrize("options", [(), ("--no-demangle",)], ids=["demangled", "raw"])
def test_a_function_that_each_build_numbers_anew_is_one_row(tmp_path, options):
    """As clang's ThinLTO names them."""
    for number in ("2593025945976326257", "3516108466226808952"):
        (tmp_path / number).mkdir()
        program = build(tmp_path / number / "numbered", NUMBERED.replace("NUMBER", number))
        stackcount(*options, "-U", "-o", tmp_path / f"{number}.pb.gz", GETPPID, "--", program).ok()
    (row,) = subtract(*tmp_path.glob("*.pb.gz")).splitlines()
    assert row.endswith(" 100 100") and "main;helper;" in row, row


def test_so_it_is_in_files_of_other_tools(tmp_path):
    for name in ("helper.llvm.12", "helper.llvm.34"):
        file = PprofFile()
        file.add([("main", None), (name, None)], [3])
        (tmp_path / name).write_bytes(file.bytes())
    assert subtract(tmp_path / "helper.llvm.34", tmp_path / "helper.llvm.12") == "main;helper 3 3\n"


@pytest.mark.parametrize("name", ["helper", "helper.llvm.7"])
def test_a_pattern_matches_it_with_and_without_the_number(tmp_path, name):
    program = build(tmp_path / "numbered", NUMBERED.replace("NUMBER", "7"))
    assert {chain.rpartition(";")[2]: n for chain, n in chains_of(stackcount(*FOLDED, f"{program}:{name}", "--", program).ok()).items()} == {"helper": 100}


# --- the vdso ---

CLOCK = """
#include <time.h>
int main(void) { struct timespec t; long sum = 0; for (int i = 0; i < 20000000; i++) { clock_gettime(CLOCK_MONOTONIC, &t); sum += t.tv_nsec; } return sum == 1; }
"""


def test_the_vdso_s_local_functions_are_told_by_their_places(tmp_path):
    result = stackcount(*FOLDED, "-F", "499", "--", build(tmp_path / "clock", CLOCK), program=BUILD / "profile").ok()
    inner = {}
    for parts, n in read_folded(result.out):
        if "main" in parts:
            inner[parts[-1]] = inner.get(parts[-1], 0) + n
    assert "[unknown]" not in inner and any("vdso" in name or "clock_gettime" in name for name in inner), result
