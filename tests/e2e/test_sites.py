# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sites where a probe would harm the program, or would never be hit."""

import subprocess

import pytest
from tool import PATIENCE_S, chains, stackcount

pytestmark = pytest.mark.needs("uprobes", "unwinding", "machine")

N = 1000
# leaf() has its variable in the red zone, below the stack pointer.
LEAF = r"""
	.text; .globl leaf; .type leaf, @function
leaf:	.cfi_startproc
	mov %rdi, -8(%rsp)
	mov $1, %ecx
	.globl site; .type site, @function
site:	SITE
	mov -8(%rsp), %rax
	ret
	.cfi_endproc; .size leaf, . - leaf; .size site, . - site
	.section .note.stapsdt, "", "note"
	.balign 4; .4byte 2f - 1f, 4f - 3f, 3
1:	.asciz "stapsdt"
2:	.balign 4
3:	.8byte site, _.stapsdt.base, 0; .asciz "app"; .asciz "mid"; .asciz ""
4:	.balign 4
	.section .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat
	.weak _.stapsdt.base; .hidden _.stapsdt.base
_.stapsdt.base: .space 1
	.section .note.GNU-stack, "", "progbits"
"""
MAIN = """
unsigned long leaf(unsigned long);

int main(void)
{
	for (unsigned long i = 1; i <= %d; i++)
		if (leaf(i) != i)
			return 1;
	return 0;
}
""" % N

NOP5 = ".byte 0x0f, 0x1f, 0x44, 0, 0"


def build_leaf(folder, site):
    (folder / "leaf.s").write_text(LEAF.replace("SITE", site))
    (folder / "main.c").write_text(MAIN)
    program = folder / "leaf"
    subprocess.run(["gcc", "-O1", "-o", program, folder / "leaf.s", folder / "main.c"], check=True, timeout=PATIENCE_S)
    return program


@pytest.mark.parametrize("pattern", ["u:{}:mid", "{}:site"])
@pytest.mark.parametrize("site", [NOP5, ".byte 0x2e, 0x0f, 0x1f, 0x40, 0"])
def test_the_program_keeps_its_variables_and_each_hit_counts(tmp_path, site, pattern):
    """Linux 6.18 to 7.1 make a call of a NOP of five bytes. The kernel sets no probe on an instruction with a prefix."""
    program = build_leaf(tmp_path, site)
    result = stackcount("-f", "-U", pattern.format(program), "--", program).ok()
    assert "exited with status 0" in result.err, result
    assert {chain.rpartition(";")[2]: n for chain, n in chains(result).items()} == {"site": N}, result


def test_a_site_that_cannot_be_moved_is_refused_or_harmless(tmp_path):
    """A loop begins behind it, so a probe there would count the loop's turns."""
    program = build_leaf(tmp_path, f"{NOP5}\n1: dec %ecx; jns 1b")
    result = stackcount("-f", "-U", f"u:{program}:mid", "--", program)
    if result.status:
        assert "would replace the 5-byte NOP there by a call" in result.err and f"({program}+0x" in result.err, result
    else:
        assert "exited with status 0" in result.err and sum(chains(result).values()) == N, result


SEMAPHORE = """
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

static volatile unsigned short app_hit_semaphore __attribute__((section(".probes"), used));

int main(void)
{
	for (int i = 0; i < %d; i++)
		if (app_hit_semaphore)
			STAP_PROBE1(app, hit, i);
	return 0;
}
""" % N


@pytest.mark.parametrize("is_shared", [True, pytest.param(False, marks=pytest.mark.thorough)], ids=["shared", "alone"])
def test_a_semaphore_that_the_kernel_mistakes_is_told(tmp_path, is_shared):
    """lld puts read-only data after relocation and other data into one page of the file."""
    program, options = tmp_path / "app", [] if is_shared else ["-Wl,-z,norelro"]
    command = ["clang", "-O2", "-fuse-ld=lld", *options, "-o", program, "-xc", "-"]
    subprocess.run(command, input=SEMAPHORE, text=True, check=True, timeout=PATIENCE_S)
    result = stackcount("-f", "-U", f"u:{program}:hit", "--", program).ok()
    is_told = "have a semaphore in a page that two writable segments share" in result.err
    assert is_told == is_shared, result
    assert is_shared or sum(chains(result).values()) == N, result
