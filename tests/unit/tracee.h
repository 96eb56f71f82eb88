/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * tests/unit/tracee.h - a process that is stopped, walked twice: by the step function over
 * tables, and by libdwfl, as eu-stack does it.
 */
#pragma once

#include "test.h"

#include <elfutils/libdwfl.h>
#include <sys/ptrace.h>
#include <sys/user.h>

#include "elf/image.h"
#include "reader/mappings.h"
#include "unwind/compact.h"

#define MAX_DEPTH 1024

/* A file that the process has mapped. */
struct tracee_image {
	uint64_t dev, inode;
	struct image *im; /* NULL: none */
	struct unwind_table table;
};

struct walk {
	uint64_t pcs[MAX_DEPTH];
	size_t n;
	size_t n_before_rbx; /* frames up to the first that is found by rbx */
	enum unwind_end end;
};

struct tracee {
	pid_t pid;
	bool is_mixed; /* frame pointers where there is no rule; not compared */
	int memory;    /* /proc/PID/mem */
	Dwfl *dwfl;
	struct mapping_list mappings;
	struct tracee_image *images;
	size_t n_images, images_capacity;
	size_t n_stops, n_frames, n_rooted, n_by_end[UNWIND_END_DEPTH + 1];
	size_t most_frames, n_theirs_cut, n_without_cfi;
	struct walk in_stub; /* n is 0: the last stop was in none */
};

static inline int no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			       const char *file, const char *link, GElf_Word crc, char **ret)
{
	(void)module, (void)data, (void)name, (void)base;
	(void)file, (void)link, (void)crc, (void)ret;
	return -1;
}

static inline _Bool tracee_read(void *from, __u64 at, __u64 *ret)
{
	const struct tracee *t = from;

	return pread(t->memory, ret, sizeof(*ret), (off_t)at) == sizeof(*ret);
}

static inline struct image *open_vdso(const struct tracee *t, const struct mapping *m)
{
	size_t size = m->end - m->start;
	cleanup_free void *data = xmalloc(size);
	struct image *im;

	if (pread(t->memory, data, size, (off_t)m->start) != (ssize_t)size ||
	    image_open_memory(data, size, m->path, &im, NULL) != 0)
		fail_msg("the vdso of process %d cannot be read", t->pid);
	return im;
}

static inline struct tracee_image *tracee_image(struct tracee *t, const struct mapping *m)
{
	struct tracee_image new = { .dev = m->dev, .inode = m->inode };
	cleanup_close int fd = -1;
	struct error e;

	for (size_t i = 0; i < t->n_images; i++)
		if (t->images[i].dev == m->dev && t->images[i].inode == m->inode)
			return &t->images[i];
	if (strcmp(m->path, "[vdso]") == 0)
		new.im = open_vdso(t, m);
	else if (m->inode && mapping_open((uint32_t)t->pid, m, &fd, &e) == 0 &&
		 image_open_fd(fd, m->path, &new.im, &e) != 0)
		new.im = NULL;
	if (new.im && unwind_table_make(new.im, SIZE_MAX, &new.table, &e) != 0)
		fail_msg("%s: %s", m->path, e.text);
	array_push(t->images, t->n_images, t->images_capacity, new);
	return &t->images[t->n_images - 1];
}

/* The rule at address @addr. False: @ret_end says why there is none. */
static inline bool tracee_rule(struct tracee *t, uint64_t addr, struct unwind_rule *ret,
			       enum unwind_end *ret_end)
{
	const struct mapping *m = mapping_list_at(&t->mappings, addr);
	const struct tracee_image *image = m ? tracee_image(t, m) : NULL;
	uint64_t vaddr;

	*ret_end = m ? UNWIND_END_NO_TABLE : UNWIND_END_NO_MAPPING;
	if (!image || !image->im)
		return false;
	/* Not by @m's own offset: its first page may begin with the end of another segment (lld).
	 */
	if (!image_offset_to_vaddr(image->im, addr - m->start + m->offset, &vaddr))
		return false;
	*ret = unwind_table_at(&image->table, vaddr);
	return true;
}

static inline void walk_by_tables(struct tracee *t, struct unwind_regs regs, struct walk *ret)
{
	*ret = (struct walk){ .end = UNWIND_END_DEPTH };
	while (ret->n < MAX_DEPTH) {
		struct unwind_rule rule;

		ret->pcs[ret->n++] = regs.pc;
		if (!tracee_rule(t, unwind_look_up_at(&regs), &rule, &ret->end)) {
			if (!t->is_mixed)
				return;
			rule = UNWIND_FRAME_POINTERS;
		}
		if (t->is_mixed && rule.how == UNWIND_NO_ROW)
			rule = UNWIND_FRAME_POINTERS;
		if (rule.how >> 4 == UNWIND_RBX && !ret->n_before_rbx)
			ret->n_before_rbx = ret->n;
		ret->end = unwind_step(&regs, rule, tracee_read, t);
		if (ret->end)
			return;
		ret->end = UNWIND_END_DEPTH;
	}
}

static inline int take_frame(Dwfl_Frame *frame, void *context)
{
	struct walk *walk = context;
	Dwarf_Addr pc;

	assert_true(dwfl_frame_pc(frame, &pc, NULL));
	if (walk->n == MAX_DEPTH)
		return DWARF_CB_ABORT;
	walk->pcs[walk->n++] = pc;
	return DWARF_CB_OK;
}

static inline void tracee_begin(struct tracee *t, pid_t pid)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = no_debuginfo };

	*t = (struct tracee){ .pid = pid, .memory = -1 };
	t->dwfl = dwfl_begin(&callbacks);
	assert_non_null(t->dwfl);
}

/* The descriptor is of the program that ran when it was opened: another one may have been run. */
static inline void open_memory(struct tracee *t)
{
	cleanup_free char *path = xasprintf("/proc/%d/mem", t->pid);

	cleanup_close_fd(&t->memory);
	t->memory = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(t->memory >= 0);
}

/* What is mapped has changed. */
static inline void tracee_look(struct tracee *t)
{
	struct error e;

	open_memory(t);
	mapping_list_fini(&t->mappings);
	t->mappings = (struct mapping_list){};
	if (mapping_list_read((uint32_t)t->pid, &t->mappings, &e) != 0)
		fail_msg("%s", e.text);
	dwfl_report_begin(t->dwfl);
	assert_int_equal(dwfl_linux_proc_report(t->dwfl, t->pid), 0);
	assert_int_equal(dwfl_report_end(t->dwfl, NULL, NULL), 0);
	if (dwfl_pid(t->dwfl) < 0)
		assert_int_equal(dwfl_linux_proc_attach(t->dwfl, t->pid, true), 0);
}

static inline void tracee_end(struct tracee *t)
{
	for (size_t i = 0; i < t->n_images; i++) {
		unwind_table_fini(&t->images[i].table);
		image_close(t->images[i].im);
	}
	free(t->images);
	mapping_list_fini(&t->mappings);
	dwfl_end(t->dwfl);
	cleanup_close_fd(&t->memory);
}

static inline struct unwind_regs regs_of(pid_t tid)
{
	struct user_regs_struct r;

	assert_int_equal(ptrace(PTRACE_GETREGS, tid, NULL, &r), 0);
	return (struct unwind_regs){
		.of = { r.rax, r.rdx, r.rcx, r.rbx, r.rsi, r.rdi, r.rbp, r.rsp, r.r8, r.r9, r.r10,
			r.r11, r.r12, r.r13, r.r14, r.r15 },
		.pc = r.rip,
		.known = UNWIND_ALL_KNOWN,
		.is_exact = 1,
	};
}

static inline void put_walk(struct tracee *t, const char *by, const struct walk *walk)
{
	print_error("%s, end %d:", by, walk->end);
	for (size_t i = 0; i < walk->n; i++) {
		const struct mapping *m = mapping_list_at(&t->mappings, walk->pcs[i]);

		print_error(" %s+%#lx", m ? m->path : "",
			    walk->pcs[i] - (m ? m->start - m->offset : 0));
	}
	print_error("\n");
}

static inline bool is_same(const struct walk *ours, const struct walk *theirs)
{
	size_t n = theirs->n < ours->n ? theirs->n : ours->n;

	if (memcmp(ours->pcs, theirs->pcs, n * sizeof(*ours->pcs)) != 0)
		return false;
	if (theirs->end == UNWIND_END_ROOT && theirs->n != ours->n_before_rbx)
		return ours->end == UNWIND_END_ROOT && ours->n == theirs->n;
	return ours->n >= theirs->n;
}

/* Is there CFI at @pc? */
static inline bool has_cfi(const struct tracee *t, uint64_t pc)
{
	Dwfl_Module *module = dwfl_addrmodule(t->dwfl, pc);
	Dwarf_Addr eh_bias = 0, bias = 0;
	Dwarf_CFI *eh_cfi = module ? dwfl_module_eh_cfi(module, &eh_bias) : NULL;
	Dwarf_CFI *cfi = module ? dwfl_module_dwarf_cfi(module, &bias) : NULL;
	cleanup_free Dwarf_Frame *eh_frame = NULL;
	cleanup_free Dwarf_Frame *frame = NULL;

	return (eh_cfi && dwarf_cfi_addrframe(eh_cfi, pc - eh_bias, &eh_frame) == 0) ||
	       (cfi && dwarf_cfi_addrframe(cfi, pc - bias, &frame) == 0);
}

/* In a stub without CFI libdwfl guesses, and misses its caller: the next stop shows who that is. */
static inline void compare_stub(struct tracee *t, const struct walk *now)
{
	const struct walk *stub = &t->in_stub;

	if (stub->n &&
	    (stub->n != now->n || stub->end != now->end ||
	     memcmp(stub->pcs + 1, now->pcs + 1, (now->n - 1) * sizeof(*now->pcs)) != 0)) {
		put_walk(t, "in the stub", stub);
		put_walk(t, "behind it", now);
		fail_msg("stop %zu: a stub's callers are not those of what it jumps to",
			 t->n_stops);
	}
	t->in_stub.n = 0;
}

static inline void count_walk(struct tracee *t, const struct walk *walk)
{
	t->n_stops++;
	t->n_frames += walk->n;
	t->n_by_end[walk->end]++;
	if (walk->n > t->most_frames)
		t->most_frames = walk->n;
	if (walk->end != UNWIND_END_ROOT && t->n_by_end[walk->end] == 1)
		put_walk(t, "the first that ends so", walk);
}

/*
 * Thread @tid is stopped: both walks give the same frames up to the root; or libdwfl does not
 * come there, and ours gives at least what it gives. It looks a return from a system call up at
 * its pc exactly, which may be the end of a function (__restore_rt); and takes it for the end where
 * a frame is found by rbx (_dl_runtime_resolve), which it takes for lost (see test_unwind_rows.c).
 */
static inline void tracee_compare(struct tracee *t, pid_t tid, bool is_in_call)
{
	static struct walk ours, theirs;
	struct unwind_regs regs = regs_of(tid);

	regs.is_exact = !is_in_call;
	walk_by_tables(t, regs, &ours);
	count_walk(t, &ours);
	if (t->is_mixed)
		return;
	compare_stub(t, &ours);
	if (!has_cfi(t, regs.pc)) {
		t->in_stub.n = 0;
		if (!is_in_call)
			t->in_stub = ours;
		t->n_without_cfi++;
		return;
	}
	theirs = (struct walk){};
	theirs.end = dwfl_getthread_frames(t->dwfl, tid, take_frame, &theirs) == 0
			     ? UNWIND_END_ROOT
			     : UNWIND_END_NO_ROW;
	t->n_theirs_cut += theirs.end != UNWIND_END_ROOT || theirs.n < ours.n;
	if (!is_same(&ours, &theirs)) {
		put_walk(t, "by tables", &ours);
		put_walk(t, "by libdwfl", &theirs);
		fail_msg("thread %d, stop %zu: the walks are not the same", tid, t->n_stops);
	}
}
