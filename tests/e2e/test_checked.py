# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Frame pointers in code without unwind tables: a stack is whole and right, or it is marked."""

import functools
import os
import re
import shutil
import subprocess

import chains_source
import pytest
from tool import GETPPID, PATIENCE_S, Live, read_folded, stackcount, workload_path

pytestmark = pytest.mark.needs("unwinding")

DWARF = ("--unwind", "dwarf", "-U", "-f")
UNVERIFIED = "[unverified: frame pointers]"
N = 20


@functools.cache
def unrowed():
    result = stackcount(*DWARF, GETPPID, "--", workload_path("unrowed"), "--quiet", N).ok()
    found = {}
    for parts, n in read_folded(result.out):
        assert n == N and (parts[0][0] == "[" or "__libc_start_main" in parts), result
        found[";".join(parts[parts.index("run") :]) if "run" in parts else ";".join(parts)] = parts[0]
    return found


def test_a_step_by_frame_pointer_is_marked():
    """Where it is right, and where it leaves a function out that keeps no frame pointer, or has given it back."""
    found = unrowed()
    marked = {chain for chain, first in found.items() if first == UNVERIFIED}
    assert marked == {
        "run;direct;hit",
        "run;direct_of;direct;hit",
        "run;pointer;direct;hit",
        "run;edge",
        "run;jump;hit",
        "run;frameless;hit",
        "run;behind_endless;hit",
        f"{UNVERIFIED};fiber;in_fiber;hit",  # it begins there: nobody has called
    }, found


def test_what_is_no_frame_pointer_is_not_followed():
    found = unrowed()
    assert found.get("[cut: no row];number;hit") == "[cut: no row]", found


# --- programs that know their own chains ---


def read_truth(out):
    lines = (re.fullmatch(r"(main\S*) (\d+)", line) for line in out.splitlines())
    return {line[1]: int(line[2]) for line in lines if line}


def walk_chains(program, turns):
    """What the program says, and each stack that has no mark."""
    result = stackcount(*DWARF, GETPPID, "--", program, turns, 7).ok()
    truth, found, n_all = read_truth(result.out), {}, 0
    for parts, n in read_folded("".join(re.findall(r"^(?!main).*\n", result.out, re.M))):
        n_all += n
        if not parts[0].startswith("["):
            names = [name for name in parts if name not in ("getppid", "__getppid")]
            chain = ";".join(names[names.index("main") :]) if "main" in names else ";".join(names)
            found[chain] = found.get(chain, 0) + n
    assert result.lost == 0 and n_all == sum(truth.values()), result
    return truth, found


def build(tmp_path, number, *options):
    source = tmp_path / f"chains{number}.c"
    source.write_text(chains_source.source(number))
    program = source.with_suffix("")
    subprocess.run(["gcc", *chains_source.FLAGS, *options, "-o", program, source], check=True, timeout=120)
    return program


@pytest.mark.parametrize("number,option", [(0, "-O2"), pytest.param(1, "-O1", marks=pytest.mark.thorough)])
def test_no_chain_of_many_is_wrong_without_a_mark(tmp_path, number, option):
    """Of functions with and without frame pointers."""
    truth, found = walk_chains(build(tmp_path, number, option), 600)
    assert sum(truth.values()) > 16000
    assert {chain: n for chain, n in found.items() if n > truth.get(chain, 0)} == {}
    assert option == "-O2" or sum(found.values()) > 100


# --- code of JIT compilers ---


@functools.cache
def made():
    """{function: (is it marked, frames of code in no file)}"""
    result = stackcount(*DWARF, GETPPID, "--", workload_path("made"), "--quiet", N).ok()
    found = {}
    for parts, n in read_folded(result.out):
        assert n == N and "run" in parts and "__libc_start_main" in parts, result
        name = parts[parts.index("run") + 1].removeprefix("of_")
        found[name] = (parts[0] == UNVERIFIED, parts.count("[unknown]"))
    return found


def test_code_of_a_compiler_with_frame_pointers_has_no_mark():
    """Also where rbp is set behind the room's taking, as by .NET."""
    found = made()
    assert {name: found[name] for name in ("framed", "later")} == {"framed": (False, 3), "later": (False, 3)}, found


def test_code_of_a_compiler_without_frame_pointers_is_marked():
    """It was left out: rbp leads from it past its caller. Its set-up says how far the caller's frame is."""
    found = made()
    expected = {name: (True, 3) for name in ("pushed", "saved", "aligned")}
    assert {name: found[name] for name in expected} == expected, found


# --- a file without any table ---

BARE_LIBRARY = """
	.globl outer
	.text
inner:	push %rbx
	mov $110, %eax
	syscall
	pop %rbx
	ret
outer:	push %rbx
	call inner
	pop %rbx
	ret
	.section .note.GNU-stack
"""
CALLER = """
void outer(void);
__attribute__((noinline)) static void caller(void) { outer(); __asm__ volatile(""); }
int main(int argc, char **argv) { for (int i = 0; i < 20; i++) caller(); return !argv[argc - 1]; }
"""


def test_a_file_without_tables_is_a_gap(tmp_path):
    """Its functions keep no frame pointer, and rbp is that of who called them: two are left out."""
    (tmp_path / "bare.s").write_text(BARE_LIBRARY)
    (tmp_path / "caller.c").write_text(CALLER)
    link = ["-shared", "-nostdlib", "-Wl,--no-ld-generated-unwind-info", "-o", "libbare.so", "bare.s"]
    build_program = ["-O1", "-fno-omit-frame-pointer", "-o", "caller", "caller.c", "./libbare.so"]
    for arguments in (link, build_program):
        subprocess.run(["gcc", *arguments], cwd=tmp_path, check=True, timeout=120)
    result = stackcount(*DWARF, GETPPID, "--", "./caller", cwd=tmp_path).ok()
    ((parts, n),) = read_folded(result.out)
    assert n == 20 and parts[0] == UNVERIFIED and parts[-1] == "[libbare.so]", result


# --- a program without any table ---

START = r"""
	.globl _start
	.type _start, @function
_start:	xor %ebp, %ebp
	nop
	mov $20, %r12d
1:	call run
	dec %r12d
	jnz 1b
	mov $60, %eax
	xor %edi, %edi
	syscall
	hlt
	.size _start, . - _start
	.macro framed name, inner
	.type \name, @function
\name:	push %rbp
	mov %rsp, %rbp
	\inner
	pop %rbp
	ret
	.size \name, . - \name
	.endm
	framed leaf, "mov $110, %eax; syscall"
	framed middle, "call leaf"
	framed run, "call middle"
	.section .note.GNU-stack, "", @progbits
"""


def test_functions_right_behind_a_programs_start_are_no_roots(tmp_path):
    """They keep frame pointers, which lead to the program's start. There, the frame pointer is 0."""
    (tmp_path / "start.s").write_text(START)
    link = ["-nostdlib", "-static", "-Wl,--no-ld-generated-unwind-info", "-s", "-o", "start", "start.s"]
    subprocess.run(["gcc", *link], cwd=tmp_path, check=True, timeout=120)
    result = stackcount(*DWARF, GETPPID, "--", "./start", cwd=tmp_path).ok()
    ((parts, n),) = read_folded(result.out)
    assert n == 20 and parts == [UNVERIFIED, *["[start]"] * 4], result


# --- hits that are walked later ---


def by_chain(result, comm=None):
    found = {}
    for parts, n in read_folded(result.out):
        if comm is None or parts[0] == comm:
            chain = ";".join(parts if comm is None else parts[1:])
            found[chain] = found.get(chain, 0) + n
    return found


@pytest.mark.parametrize("name", ["unrowed", "ways-nofp"])
def test_a_stack_is_the_same_whoever_walks_it(tmp_path, name):
    """BPF, for a command whose tables are made before; or user space, for a program that nobody knows yet."""
    expected = by_chain(stackcount(*DWARF, GETPPID, "--", workload_path(name), "--quiet", N).ok())
    program = shutil.copy(workload_path(name), tmp_path / f"s{os.getpid() % 100_000}")
    with Live(["-P", *DWARF, GETPPID]) as tool:
        subprocess.run([program, "--quiet", str(N)], check=True, timeout=PATIENCE_S, stdout=subprocess.DEVNULL)
        result = tool.end().ok()
    comms = {parts[0] for parts, _ in read_folded(result.out) if parts[0].startswith(program.name)}
    found = {}
    for comm in comms:  # a forked one has a row of its own
        for chain, n in by_chain(result, comm).items():
            found[chain] = found.get(chain, 0) + n
    assert found == expected, result
