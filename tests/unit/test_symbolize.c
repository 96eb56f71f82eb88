/* rooms: symbolize elf kernel processes files unwind arch base */
// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The symbolizer against this process, and against children that run a copy of
 * this program ("child" as argument): these print where marked_function() is and wait.
 */
#include "test.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "bpf/abi.h"
#include "bpf/user_step.h"
#include "files.h"
#include "files/mappings.h"
#include "scratch.h"
#include "symbolize/symbolize.h"

#define COPY TEST_BUILD "/unit/symbolize_copy"

/*
 * A function that ends in a call, the next one directly behind it, then code that
 * is in no function.
 */
__asm__(".pushsection .text\n"
	".type ends_in_call, @function\n"
	"ends_in_call:\n\tnop\n\tcall abort@PLT\n"
	".size ends_in_call, . - ends_in_call\n"
	".type behind_the_call, @function\n"
	"behind_the_call:\n\tnop\n\tnop\n\tret\n"
	".size behind_the_call, . - behind_the_call\n"
	".hidden no_function\n.globl no_function\n"
	".skip 16, 0x90\n"
	"no_function:\n"
	".skip 64, 0x90\n"
	/* known to .eh_frame alone; its symbol says that it is data */
	".hidden unnamed\n.globl unnamed\n.type unnamed, @object\n"
	".p2align 6\nunnamed:\n.cfi_startproc\n.skip 64, 0x90\n.cfi_endproc\n"
	".skip 16, 0xcc\n"
	".hidden pushed\n.globl pushed\n.type pushed, @function\n"
	"pushed:\n\tnop\n\tret\n.size pushed, . - pushed\n"
	".hidden pushed_too\n.globl pushed_too\n.type pushed_too, @function\n"
	"pushed_too:\n\tnop\n\tret\n.size pushed_too, . - pushed_too\n"
	/* without a name; ends in a call */
	".cfi_startproc\n\tnop\n\tcall abort@PLT\n.cfi_endproc\n"
	".hidden called_before\n.globl called_before\n.type called_before, @function\n"
	"called_before:\n\tnop\n\tret\n.size called_before, . - called_before\n"
	".popsection\n");

extern const char no_function[], unnamed[], pushed[], pushed_too[], called_before[];

static uint64_t address_of_local(const char *which)
{
	const char *addr;

	/* Local labels cannot be named in C. */
	if (strcmp(which, "ends_in_call") == 0)
		__asm__("lea ends_in_call(%%rip), %0" : "=r"(addr));
	else
		__asm__("lea behind_the_call(%%rip), %0" : "=r"(addr));
	return (uintptr_t)addr;
}

__attribute__((noinline, used)) int marked_function(int n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

int numbered_function(void) __asm__("numbered_function.llvm.123");
__attribute__((used)) int numbered_function(void)
{
	return 7;
}

static struct host *fixture_host;
static struct processes *processes;

/* No record tells of what processes map here: after a loss, their mappings are read again. */
static void announce(uint32_t pid, const char *comm)
{
	const struct process_event lost = { .type = PROCESS_LOST,
					    .since = clock_ns(CLOCK_MONOTONIC) };
	struct notice seen = { .since = UINT64_MAX };

	(void)snprintf(seen.comm, sizeof(seen.comm), "%s", comm ? comm : "");
	(void)processes_event(processes, &lost);
	processes_seen(processes, pid, &seen);
	processes_look(processes, (uint32_t)getpid());
}

static int set_up_as(void **state, enum frame_identity identity)
{
	const struct symbolizer_options options = { .names = files_of_test(),
						    .identity = identity };

	fixture_host = host_new();
	processes = processes_new(files_of_test());
	*state = symbolizer_new(fixture_host, processes, &options);
	announce((uint32_t)getpid(), NULL);
	return 0;
}

static int set_up(void **state)
{
	return set_up_as(state, IDENTITY_FUNCTION);
}

static int set_up_address(void **state)
{
	return set_up_as(state, IDENTITY_ADDRESS);
}

static int tear_down(void **state)
{
	struct symbolizer *s = *state;

	symbolizer_free(s);
	processes_free(processes);
	host_freep(&fixture_host);
	return 0;
}

#define TEST_WITH_NAMES(name) TEST_OF(name, struct symbolizer *s, set_up, tear_down)

static const struct frame *frame_at(struct symbolizer *s, uint32_t number)
{
	const struct frame_table *frames = symbolizer_frames(s);

	assert_true(number < frames->n);
	return &frames->frames[number];
}

/* A stack of one address; the mark tells an address near 0 from a mark. */
static uint32_t number_at(struct symbolizer *s, pid_t pid, uint64_t addr, bool is_exact)
{
	const uint64_t words[] = { addr, STACK_MARK_DEPTH };
	const struct raw_stack raw = { .words = words,
				       .n = ARRAY_SIZE(words),
				       .flags = is_exact ? KEY_USER_PC_EXACT : 0,
				       .tgid = (uint32_t)pid };
	uint32_t frames[USER_FRAMES];

	assert_int_equal(name_user_stack(s, &raw, 0, frames), ARRAY_SIZE(words));
	assert_int_equal(frame_at(s, frames[1])->kind, FRAME_CUT);
	return frames[0];
}

/* The frame of @addr in process @pid. Lent by @s until the next. */
static const struct frame *user(struct symbolizer *s, pid_t pid, uint64_t addr, bool is_exact)
{
	return frame_at(s, number_at(s, pid, addr, is_exact));
}

static void expect_name(const struct frame *frame, const char *name)
{
	assert_non_null(frame->name);
	assert_string_equal(frame->name, name);
}

/* Of what this program has mapped at @addr. */
static uint64_t offset_in_file(uint64_t addr)
{
	cleanup(mapping_list_fini) struct mapping_list list = {};

	assert_int_equal(mapping_list_read((uint32_t)getpid(), &list, NULL), 0);

	const struct mapping *m = mapping_list_at(&list, addr);

	assert_non_null(m);
	return addr - m->start + m->offset;
}

static const char *own_file_name(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	assert_true(n > 0);
	path[n] = '\0';
	return strrchr(path, '/') + 1;
}

static void begin_report(struct symbolizer *s)
{
	processes_refresh(processes);
	while (processes_read_hit(processes))
		;
	symbolizer_refresh(s);
}

TEST_WITH_NAMES(a_function_of_the_program_has_its_name_file_and_offset)
{
	uint64_t addr = (uintptr_t)marked_function;
	const struct frame *frame = user(s, getpid(), addr, true);

	assert_int_equal(frame->kind, FRAME_USER);
	assert_false(frame->is_machinery);
	expect_name(frame, "marked_function");
	assert_string_equal(frame->module, own_file_name());
	assert_int_equal(frame->addr, addr);
	assert_int_equal(frame->offset, 0);
}

TEST_WITH_NAMES(the_caller_of_a_call_that_does_not_return_is_named)
{
	uint64_t start = address_of_local("ends_in_call");
	uint64_t behind = address_of_local("behind_the_call");
	uint32_t as_return = number_at(s, getpid(), behind, false);
	uint32_t as_exact = number_at(s, getpid(), behind, true);

	assert_int_not_equal(as_return, as_exact);
	expect_name(frame_at(s, as_return), "ends_in_call");
	assert_int_equal(frame_at(s, as_return)->offset, behind - start);
	assert_int_equal(frame_at(s, as_return)->addr, behind);
	expect_name(frame_at(s, as_exact), "behind_the_call");
	assert_int_equal(frame_at(s, as_exact)->offset, 0);
	/* and again, from what was kept */
	assert_int_equal(number_at(s, getpid(), behind, false), as_return);
	assert_int_equal(number_at(s, getpid(), behind, true), as_exact);
}

static int first_object(struct dl_phdr_info *info, size_t size, void *context)
{
	*(uint64_t *)context = info->dlpi_addr;
	return 1;
}

TEST_WITH_NAMES(code_that_nothing_tells_of_is_one_frame_of_its_file)
{
	uint64_t addr = (uintptr_t)no_function + 8, base = 0;

	(void)dl_iterate_phdr(first_object, &base);

	uint32_t number = number_at(s, getpid(), addr, false);
	const struct frame *frame = frame_at(s, number);

	assert_null(frame->name);
	assert_string_equal(frame->module, own_file_name());
	assert_int_equal(frame->module_offset, addr - base);
	assert_true(frame->is_in_file);
	assert_false(frame->has_start);
	assert_int_equal(number_at(s, getpid(), addr + 8, false), number);
}

/* Frames of unnamed(): one, with the place where it begins. */
TEST_WITH_NAMES(a_function_without_a_name_is_one_frame)
{
	const uint64_t addr = (uintptr_t)unnamed;
	const uint32_t number = number_at(s, getpid(), addr + 4, false);
	const struct frame *frame = frame_at(s, number);
	uint64_t base = 0;

	(void)dl_iterate_phdr(first_object, &base);
	assert_null(frame->name);
	assert_true(frame->is_in_file && frame->has_start);
	assert_int_equal(frame->offset, 4);
	assert_int_equal(frame->module_offset, addr + 4 - base);
	assert_int_equal(number_at(s, getpid(), addr + 8, false), number);
	assert_int_equal(number_at(s, getpid(), addr, true), number);
	assert_int_not_equal(number_at(s, getpid(), addr + 0x41, false), number);
}

/* As the return of signal handlers: the byte before is another function's, or none's. */
TEST_WITH_NAMES(a_function_that_nobody_called_is_named_at_its_first_byte)
{
	expect_name(user(s, getpid(), (uintptr_t)pushed, false), "pushed");
	assert_int_equal(user(s, getpid(), (uintptr_t)pushed, false)->offset, 0);
	expect_name(user(s, getpid(), (uintptr_t)pushed_too, false), "pushed_too");
	expect_name(user(s, getpid(), (uintptr_t)pushed_too + 1, false), "pushed_too");
}

TEST_WITH_NAMES(behind_a_call_it_is_the_caller_though_that_has_no_name)
{
	const struct frame *frame = user(s, getpid(), (uintptr_t)called_before, false);

	assert_null(frame->name);
	assert_true(frame->has_start);
	assert_int_equal(frame->offset, 6);
	expect_name(user(s, getpid(), (uintptr_t)called_before, true), "called_before");
}

TEST_WITH_NAMES(idle_tasks_are_called_as_the_kernel_calls_them)
{
	assert_string_equal(symbolizer_comm(s, process_key(0, 1), 0), "swapper/0");
	assert_string_equal(symbolizer_comm(s, process_key(0, 512), 0), "swapper/511");
	assert_string_equal(symbolizer_comm(s, process_key(0, 0), 0),
			    ""); /* outside of our namespace */
}

/* What no parser could open is asked for again by the next report. */
TEST_WITH_NAMES(a_file_that_could_not_be_had_has_names_later)
{
	static const uint32_t users[] = { 0, 65534 }; /* the file may count as either's */
	const uint64_t addr = (uintptr_t)marked_function;
	struct stat self;

	assert_int_equal(stat("/proc/self/exe", &self), 0);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		places_note_silence(places_of_test, place_of(STEP_CONTENTS, self.st_dev, users[i]),
				    false);
	assert_null(user(s, getpid(), addr, true)->name);
	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		while (!places_may_ask(places_of_test,
				       place_of(STEP_CONTENTS, self.st_dev, users[i])))
			(void)usleep(1000);
	begin_report(s);
	expect_name(user(s, getpid(), addr, true), "marked_function");
}

TEST_WITH_NAMES(the_number_that_a_build_adds_is_no_part_of_the_name)
{
	expect_name(user(s, getpid(), (uintptr_t)numbered_function, true), "numbered_function");
}

TEST_WITH_NAMES(an_address_that_is_not_mapped_has_neither_name_nor_module)
{
	static const uint64_t wild[] = { 0, 1, 0x1000, UINT64_MAX, 1ULL << 63, 0xffff800000000000 };
	uint32_t first = number_at(s, getpid(), wild[0], false);

	for (size_t i = 0; i < ARRAY_SIZE(wild); i++) {
		const struct frame *frame = user(s, getpid(), wild[i], false);

		assert_int_equal(frame->kind, FRAME_USER);
		assert_null(frame->name);
		assert_null(frame->module);
		assert_int_equal(number_at(s, getpid(), wild[i], true), first);
	}
}

/* With places, folded shows "[anon]+0x20", and no address. */
TEST_WITH_NAMES(two_addresses_are_one_frame_as_the_identity_says)
{
	const uint64_t named = (uintptr_t)marked_function + 1,
		       anon = (uintptr_t)mmap(NULL, 4096, PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
					      -1, 0);
	const struct {
		uint64_t one, other;
		struct symbolizer_options options;
		bool is_one;
	} rows[] = {
		{ named, named + 1, { .identity = IDENTITY_FUNCTION }, true },
		{ named, named + 1, { .identity = IDENTITY_OFFSET }, false },
		{ (uintptr_t)unnamed + 4,
		  (uintptr_t)unnamed + 8,
		  { .identity = IDENTITY_OFFSET },
		  false },
		{ 16, 32, { .identity = IDENTITY_ADDRESS }, false },
		{ 16, 32, { .places = true }, true },
		{ anon + 16, anon + 32, { .places = true }, false },
	};

	announce((uint32_t)getpid(), NULL);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct symbolizer_options options = rows[i].options;

		options.names = files_of_test();

		struct symbolizer *own = symbolizer_new(fixture_host, processes, &options);
		const uint32_t number = number_at(own, getpid(), rows[i].one, true);

		assert_int_equal(number_at(own, getpid(), rows[i].other, true) == number,
				 rows[i].is_one);
		assert_int_equal(number_at(own, getpid(), rows[i].one, false), number);
		symbolizer_free(own);
	}
	(void)s;
	munmap((void *)anon, 4096);
}

/* Copy this program to COPY, so that it can be another file, and go away. */
static void make_copy(void)
{
	cleanup_free char *command =
		xasprintf("cp -f --remove-destination /proc/%d/exe '%s'", getpid(), COPY);

	assert_int_equal(system(command), 0);
}

struct other_process {
	pid_t pid;
	int to;   /* a byte to it lets it go on to exec */
	int from; /* the address that it prints */
};

/* A child that waits for child_exec() and then runs the copy. */
static struct other_process child_fork(void)
{
	int out[2], in[2];

	assert_int_equal(pipe(out), 0);
	assert_int_equal(pipe(in), 0);

	struct other_process child = { .pid = fork(), .to = in[1], .from = out[0] };

	assert_true(child.pid >= 0);
	if (child.pid == 0) {
		char byte;

		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (read(in[0], &byte, 1) != 1 || dup2(out[1], STDOUT_FILENO) < 0)
			_exit(1);
		(void)execl(COPY, "test_symbolize", "child", NULL);
		_exit(1);
	}
	close(in[0]);
	close(out[1]);
	return child;
}

/* Let it run the copy; the address of its marked_function(). */
static uint64_t child_exec(const struct other_process *child)
{
	char text[64] = "";

	assert_int_equal(write(child->to, "x", 1), 1);
	assert_true(read(child->from, text, sizeof(text) - 1) > 0);
	return strtoull(text, NULL, 16);
}

static void child_end(const struct other_process *child)
{
	close(child->to);
	close(child->from);
	assert_int_equal(kill(child->pid, SIGKILL), 0);
	assert_int_equal(waitpid(child->pid, NULL, 0), child->pid);
}

__attribute__((noreturn)) static void run_as_child(void)
{
	(void)printf("%" PRIxPTR "\n", (uintptr_t)marked_function);
	(void)fflush(stdout);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;)
		(void)pause();
}

/* And after its end, though its file is gone. */
TEST_WITH_NAMES(after_exec_a_program_has_its_own_names)
{
	make_copy();

	struct other_process child = child_fork();

	announce((uint32_t)child.pid, NULL);

	uint64_t addr = child_exec(&child);

	announce((uint32_t)child.pid, NULL);
	begin_report(s);
	for (int has_ended = 0; has_ended < 2; has_ended++) {
		const struct frame *frame = user(s, child.pid, addr + 1, false);

		expect_name(frame, "marked_function");
		assert_string_equal(frame->module, "symbolize_copy");
		assert_string_equal(symbolizer_comm(s, child.pid, 0), "symbolize_copy");
		if (has_ended)
			break;
		assert_int_equal(unlink(COPY), 0);
		child_end(&child);
		begin_report(s);
	}
}

TEST_WITH_NAMES(equal_places_of_two_processes_are_one_frame_unless_the_file_was_written_over)
{
	struct timespec times[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct other_process children[3];
	uint32_t numbers[3];

	make_copy();
	for (int i = 0; i < 3; i++) {
		if (i == 2 && usleep(20000) == 0) /* looks at a file are 10 ms apart */
			assert_int_equal(utimensat(AT_FDCWD, COPY, times, 0), 0);
		children[i] = child_fork();

		const uint64_t at = child_exec(&children[i]);

		announce((uint32_t)children[i].pid, NULL);
		numbers[i] = number_at(s, children[i].pid, at + 1, false);
		expect_name(frame_at(s, numbers[i]), "marked_function");
	}
	assert_int_equal(numbers[1], numbers[0]);
	assert_int_not_equal(numbers[2], numbers[0]);
	for (int i = 0; i < 3; i++)
		child_end(&children[i]);
	(void)unlink(COPY);
}

/* Its symbols are read where they lie: what was cut off must not be touched. */
TEST_WITH_NAMES(a_file_that_is_written_over_in_place_names_nothing_any_more)
{
	void *library = dlopen("libresolv.so.2", RTLD_NOW);
	struct link_map *map = library;
	struct stat st;

	assert_non_null(library);
	(void)unlink(COPY);

	cleanup_free char *command = xasprintf("cp '%s' '%s'", map->l_name, COPY);

	assert_int_equal(system(command), 0);

	cleanup_close int fd = open(COPY, O_RDWR | O_CLOEXEC);

	assert_int_equal(fstat(fd, &st), 0);

	void *at = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	const uintptr_t moved = (uintptr_t)at - map->l_addr;

	assert_ptr_not_equal(at, MAP_FAILED);
	announce((uint32_t)getpid(), NULL);
	expect_name(user(s, getpid(), (uintptr_t)dlsym(library, "ns_get16") + moved, true),
		    "ns_get16");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_null(user(s, getpid(), (uintptr_t)dlsym(library, "ns_get32") + moved, true)->name);
	begin_report(s); /* what was found before is asked for again */
	assert_null(user(s, getpid(), (uintptr_t)dlsym(library, "ns_get16") + moved, true)->name);
	expect_name(user(s, getpid(), (uintptr_t)dlsym(library, "ns_get32"), true), "ns_get32");
	(void)munmap(at, (size_t)st.st_size);
	(void)dlclose(library);
	(void)unlink(COPY);
}

/* The inode of a file that could not be read may be another file's later, of the same build. */
TEST_WITH_NAMES(a_file_at_the_inode_of_a_bad_one_has_names)
{
	const uint64_t marked = (uintptr_t)marked_function;
	struct stat st;
	char byte = 0;

	make_copy();

	cleanup_close int fd = open(COPY, O_RDWR | O_CLOEXEC);

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(pwrite(fd, &byte, 1, 0), 1);
	for (int i = 0; i < 2; i++) {
		char *at = mmap(NULL, (size_t)st.st_size, PROT_EXEC, MAP_PRIVATE, fd, 0);
		const uint64_t addr = (uintptr_t)at + offset_in_file(marked);

		assert_ptr_not_equal(at, MAP_FAILED);
		begin_report(s);
		announce((uint32_t)getpid(), NULL);
		if (i == 0)
			assert_null(user(s, getpid(), addr, true)->name);
		else
			expect_name(user(s, getpid(), addr, true), "marked_function");
		(void)munmap(at, (size_t)st.st_size);
		byte = ELFMAG0;
		assert_int_equal(pwrite(fd, &byte, 1, 0), 1);
		(void)usleep(20000); /* a file is looked at again after 10 ms */
	}
	(void)unlink(COPY);
}

TEST_WITH_NAMES(maps_are_read_again_after_a_loss_only)
{
	assert_null(user(s, getpid(), 1, false)->name);

	void *library = dlopen("libresolv.so.2", RTLD_NOW);
	uint64_t addr = (uintptr_t)dlsym(library, "ns_get32");

	assert_null(user(s, getpid(), addr + 1, false)->name);
	announce((uint32_t)getpid(), NULL);
	begin_report(s);
	expect_name(user(s, getpid(), addr + 1, false), "ns_get32");
	(void)dlclose(library);
}

TEST_WITH_NAMES(the_name_of_a_process_is_its_own_else_the_given_one_else_empty)
{
	char own[17] = "";

	assert_int_equal(prctl(PR_GET_NAME, own), 0);
	announce((uint32_t)getpid(), "unused");
	assert_string_equal(symbolizer_comm(s, getpid(), 0), own);

	struct other_process child = child_fork();

	child_end(&child);
	assert_string_equal(symbolizer_comm(s, child.pid, 0), "");
	announce((uint32_t)child.pid, "given");
	assert_string_equal(symbolizer_comm(s, child.pid, 0), "given");
	assert_null(user(s, child.pid, 0x1234, false)->name);
}

static uint32_t mark_number(struct symbolizer *s, uint64_t mark)
{
	const struct raw_stack raw = { .words = &mark, .n = 1, .tgid = (uint32_t)getpid() };
	uint32_t frames[USER_FRAMES];

	assert_int_equal(name_user_stack(s, &raw, 0, frames), 1);
	return frames[0];
}

TEST_WITH_NAMES(a_mark_of_one_reason_is_one_frame)
{
	uint32_t number = mark_number(s, STACK_MARK_DEPTH);

	assert_int_equal(frame_at(s, number)->kind, FRAME_CUT);
	expect_name(frame_at(s, number), "depth");
	assert_int_equal(mark_number(s, STACK_MARK_WALK + UNWIND_END_DEPTH), number);
	assert_int_not_equal(mark_number(s, STACK_MARK_UNREADABLE), number);
	assert_int_equal(frame_at(s, mark_number(s, STACK_MARK_UNVERIFIED))->kind,
			 FRAME_UNVERIFIED);
}

static uint32_t kernel_frame_at(struct symbolizer *s, uint64_t addr, bool is_exact)
{
	const struct raw_stack raw = { .words = &addr,
				       .n = 1,
				       .flags = is_exact ? KEY_KERNEL_PC_EXACT : 0,
				       /* behind the first reading of symbols */
				       .time = clock_ns(CLOCK_MONOTONIC) + NS_PER_S };
	uint32_t frames[STACK_WORDS];

	assert_int_equal(name_kernel_stack(s, &raw, 0, frames), 1);
	return frames[0];
}

#define KERNEL_TEXT 0xffffffff81000000

/* The names of a kernel that has functions @names, each 16 bytes behind the one before. */
static struct symbolizer *new_of_kernel(const char *const *names, size_t n, struct host **ret)
{
	const char *path = scratch_lent("kallsyms");
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	for (size_t i = 0; i <= n; i++)
		assert_true(fprintf(f, "%zx t %s\n", KERNEL_TEXT + 16 * i,
				    i < n ? names[i] : "_etext") > 0);
	assert_int_equal(fclose(f), 0);
	*ret = host_new_at(&(struct host_paths){ .kallsyms = path });
	return symbolizer_new(*ret, processes,
			      &(struct symbolizer_options){ .names = files_of_test() });
}

TEST_WITH_NAMES(a_kernel_function_has_its_name)
{
	static const char *const names[] = { "first", "vfs_read" };
	cleanup(host_freep) struct host *host;
	struct symbolizer *own = new_of_kernel(names, 2, &host);
	const uint64_t addr = KERNEL_TEXT + 16;
	const uint32_t number = kernel_frame_at(own, addr + 4, false);
	const struct frame *frame = frame_at(own, number);

	assert_int_equal(frame->kind, FRAME_KERNEL);
	assert_null(symbolizer_kernel_trouble(own));
	expect_name(frame, "vfs_read");
	assert_null(frame->module);
	assert_int_equal(frame->offset, 4);
	assert_int_equal(kernel_frame_at(own, addr + 5, false), number);
	assert_int_equal(kernel_frame_at(own, addr, true), number);
	assert_int_not_equal(kernel_frame_at(own, addr, false), number);
	symbolizer_free(own);
}

TEST_WITH_NAMES(a_kernel_address_without_function_has_no_name)
{
	for (int i = 0; i < 3; i++) {
		uint32_t number = kernel_frame_at(s, 0xffff800000000010 + i, false);

		assert_null(frame_at(s, number)->name);
		assert_int_equal(kernel_frame_at(s, 0xffff800000000010 + i, false), number);
		if (i == 1)
			begin_report(s);
	}
}

/* Are the functions @names machinery, in a kernel that has them? */
static void expect_machinery(const char *const *names, size_t n, bool is_machinery)
{
	cleanup(host_freep) struct host *host;
	struct symbolizer *s = new_of_kernel(names, n, &host);

	for (size_t i = 0; i < n; i++) {
		const struct frame *frame =
			frame_at(s, kernel_frame_at(s, KERNEL_TEXT + 4 + 16 * i, false));

		expect_name(frame, names[i]);
		if (frame->is_machinery != is_machinery)
			fail_msg("%s", names[i]);
	}
	symbolizer_free(s);
}

TEST_WITH_NAMES(machinery_is_known_by_name_whatever_the_compiler_appended)
{
	/* clang-format off */
	static const char *const machinery[] = {
		"__traceiter_sched_switch", "perf_trace_sched_switch",
		"trace_event_raw_event_sched_switch", "perf_syscall_enter",
		"perf_syscall_exit.constprop.0", "perf_call_bpf_enter.isra.0", "trace_call_bpf",
		"trace_call_bpf.part.0", "perf_trace_run_bpf_submit", "bpf_trace_run2",
		"__bpf_trace_sched_switch", "__bpf_prog_enter_recur", "bpf_get_stack_raw_tp",
		"fprobe_handler.part.0", "fprobe_ftrace_entry", "fprobe_entry",
		"kprobe_multi_link_prog_run.isra.0", "kprobe_ftrace_handler", "kprobe_perf_func",
		"kprobe_dispatcher", "ftrace_caller_op_ptr", "ftrace_regs_caller",
		"ftrace_trampoline", "ftrace_ops_list_func", "arch_ftrace_ops_list_func",
		"aggr_pre_handler", "opt_pre_handler", "asm_exc_int3", "exc_int3", "do_int3",
		"kprobe_int3_handler",
	};
	/* clang-format on */

	expect_machinery(machinery, ARRAY_SIZE(machinery), true);
}

TEST_WITH_NAMES(what_can_be_traced_is_no_machinery)
{
	static const char *const others[] = {
		"vfs_read",           "do_int3_user_thing",       "perf_syscall",
		"bpf_prog_load",      "bpf_trampoline_link_prog", "exc_int3x",
		"kprobe_dispatcher2", "asm_exc_page_fault",
	};

	expect_machinery(others, ARRAY_SIZE(others), false);
}

/* Where each address is a frame; numbers of before a report's end are not used behind it. */
TEST_OF(frames_take_bounded_memory_from_report_to_report, struct symbolizer *s, set_up_address,
	tear_down)
{
	const uint64_t exact = (uintptr_t)dlsym(RTLD_DEFAULT, "getppid");
	size_t most = 0, n_cleared = 0;

	for (uint64_t report = 0; report < 40; report++) {
		begin_report(s);
		expect_name(user(s, getpid(), exact, true), "getppid");
		for (uint64_t i = 0; i < 4000; i++)
			(void)number_at(s, getpid(), 0x10000 + (report * 4000 + i) * 16, true);
		most = symbolizer_frames(s)->n > most ? symbolizer_frames(s)->n : most;
		symbolizer_trim(s);
		n_cleared += symbolizer_frames(s)->n == 0;
	}
	assert_in_range(most, 4000, 100000);
	assert_in_range(n_cleared, 2, 20);
}

TEST_WITH_NAMES(wanted_names_are_asked_for_together)
{
	uint64_t words[] = { (uintptr_t)own_file_name, (uintptr_t)marked_function };
	struct raw_stack raw = { .words = words,
				 .flags = KEY_USER_PC_EXACT,
				 .tgid = (uint32_t)getpid() };
	uint32_t frames[USER_FRAMES];
	bool is_whole;

	words[1] |= STACK_WORD_EXACT;
	for (int i = 0; i < 4; i++) {
		raw.n = i ? 2 : 1;
		assert_int_equal(want_user_stack(s, &raw), raw.n);
	}
	assert_int_equal(name_known_user_stack(s, &raw, 0, frames, &is_whole), 0);
	assert_false(is_whole);
	assert_true(symbolizer_fetch(s));
	assert_int_equal(want_user_stack(s, &raw), 0);
	assert_int_equal(name_known_user_stack(s, &raw, 0, frames, &is_whole), 2);
	assert_true(is_whole);
	expect_name(frame_at(s, frames[0]), "own_file_name");
	expect_name(frame_at(s, frames[1]), "marked_function");
	assert_false(symbolizer_fetch(s));
}

static void expect_cuts(const uint64_t cuts[CUTS], bool is_bounded, const char *want)
{
	cleanup_strbuf struct strbuf text = {};

	stack_put_cuts(cuts, is_bounded, &text);
	assert_string_equal(text.n ? text.text : "", want);
}

TEST(more_than_a_hundredth_of_cut_stacks_is_said_with_the_reason)
{
	uint64_t cuts[CUTS] = { [0] = 990, [STACK_MARK_WALK + UNWIND_END_NO_TABLE] = 10 };

	expect_cuts((uint64_t[CUTS]){}, false, "");
	expect_cuts(cuts, false, "");
	cuts[STACK_MARK_WALK + UNWIND_END_DEPTH] = 10;
	expect_cuts(cuts, true, "");
	expect_cuts(cuts, false,
		    "2.0% of the hits have a cut stack, most often [cut: no table] (try more "
		    "--unwind-memory)");
	cuts[STACK_MARK_UNREADABLE] = 990;
	expect_cuts(cuts, true,
		    "50.0% of the hits have a cut stack, most often [cut: unreadable page] "
		    "(stackcount(8) explains the mark)");
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "child") == 0)
		run_as_child();
	return run_all_tests(scratch_make, scratch_remove);
}
