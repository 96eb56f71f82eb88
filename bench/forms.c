// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * forms [ROUNDS [STACKS [DEPTH [FORM]]]] - what it costs to turn a profile into each form, and to
 * read the forms that can be read back. CPU time of the process, median of the rounds. The ratio is
 * that to folded in the same round. Memory is the most that the form takes above the profile.
 *
 * The profile is made up: STACKS distinct ones (200,000) of DEPTH frames (5), from 27,000
 * functions. Files are in memory.
 */
#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/memory.h"
#include "base/strbuf.h"
#include "profile/merge.h"
#include "profile/profile.h"
#include "profile/saved.h"
#include "report/render.h"

#define MOST_ROUNDS 99
#define MOST_FORMS 16

static const uint32_t of_level[] = { 10, 100, 2000, 5000, 20000 };

static void make_frames(struct frame_table *table, struct strtab *strings)
{
	for (uint32_t i = 0; i < 40; i++)
		array_push(table->images, table->n_images, table->image_capacity,
			   ((struct frame_image){
				   .path = strtab_add(strings, xasprintf("/usr/lib/lib%u.so", i)),
				   .build_id = strtab_add(strings, xasprintf("%040x", i)),
				   .start = 0x400000 * (i + 1ULL),
				   .limit = 0x400000 * (i + 2ULL) }));
	for (uint32_t level = 0; level < ARRAY_SIZE(of_level); level++)
		for (uint32_t i = 0; i < of_level[level]; i++) {
			const char *name = strtab_add(
				strings, xasprintf("namespace_%u::Class<int>::function_%u_%u",
						   level, level, i));
			const uint64_t offset = 16 * (table->n + 1);

			array_push(table->frames, table->n, table->capacity,
				   ((struct frame){
					   .kind = FRAME_USER,
					   .image = i % 40,
					   .is_in_file = true,
					   .name = name,
					   .module = strrchr(table->images[i % 40].path, '/') + 1,
					   .addr = table->images[i % 40].start + offset,
					   .file_offset = offset,
					   .module_offset = offset }));
		}
}

static struct profile *make_profile(uint32_t n, uint32_t depth)
{
	struct profile_builder *b = profile_builder_new(1);
	struct frame_table table = {};
	struct strtab *strings = strtab_new();
	uint32_t row[1024];

	make_frames(&table, strings);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = (uint32_t)table.n;

		for (uint32_t d = 0; d < depth; d++) {
			/* A stack's outer frames are those of many others. */
			const uint32_t level = (uint32_t)ARRAY_SIZE(of_level) - 1 - d % 5;
			const uint64_t of = d < 5 ? i : i / (8ULL << (d < 20 ? d - 5 : 15));

			first = d % 5 ? first - of_level[level] : (uint32_t)table.n - of_level[4];
			row[d] = first + (uint32_t)(hash_mix(of * 1024 + d) % of_level[level]);
		}
		(void)profile_builder_add(b, &(struct profile_stack){ .count = 1 + row[0] % 50,
								      .frames = row,
								      .n_user = depth,
								      .pid = 1000 + i % 16,
								      .comm = "program" });
	}

	struct profile *p = profile_builder_finish(b, &table);

	profile_builder_freep(&b);
	return p;
}

/* A file in memory, written as a run writes one. */
struct target {
	int fd;
	size_t n;
};

static int write_bytes(void *context, const char *bytes, size_t n)
{
	struct target *t = context;

	t->n += n;
	while (n) {
		const ssize_t now = write(t->fd, bytes, n);

		if (now < 0)
			return -errno;
		bytes += now;
		n -= (size_t)now;
	}
	return 0;
}

static int keep_bytes(void *context, const char *bytes, size_t n)
{
	strbuf_put(context, bytes, n);
	return 0;
}

/* VmRSS or VmHWM, in KiB. */
static long memory_kib(const char *key)
{
	FILE *f = fopen("/proc/self/status", "re");
	char line[256];
	long kib = 0;

	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, key, strlen(key)) == 0)
			kib = strtol(line + strlen(key) + 1, NULL, 10);
	if (f)
		(void)fclose(f);
	return kib;
}

static void forget_peak(void)
{
	FILE *f = fopen("/proc/self/clear_refs", "we");

	(void)malloc_trim(0);
	if (f) {
		(void)fputs("5", f);
		(void)fclose(f);
	}
}

struct figures {
	double ms[MOST_ROUNDS], ratio[MOST_ROUNDS];
	long kib;
	size_t bytes;
};

static double cpu_ms(void)
{
	return (double)clock_ns(CLOCK_PROCESS_CPUTIME_ID) / 1e6;
}

static int compare_doubles(const void *left, const void *right)
{
	const double a = *(const double *)left, b = *(const double *)right;

	return a < b ? -1 : a > b;
}

static double median(double *of, size_t n)
{
	qsort(of, n, sizeof(*of), compare_doubles);
	return of[n / 2];
}

static void measure_form(const struct profile *p, const struct renderer *form, size_t round,
			 struct figures *f)
{
	const struct render_style style = {};
	struct target to = { .fd = memfd_create(form->name, MFD_CLOEXEC) };

	forget_peak();

	const long before_kib = memory_kib("VmRSS");
	const double before = cpu_ms();

	if (to.fd < 0 || form->render(p, &style, write_bytes, &to))
		exit(1);
	f->ms[round] = cpu_ms() - before;
	f->kib = memory_kib("VmHWM") - before_kib;
	f->bytes = to.n;
	close(to.fd);
}

static void measure_reading(const struct strbuf *bytes, size_t round, struct figures *f)
{
	struct profile *p;
	struct error e = {};

	forget_peak();

	const long before_kib = memory_kib("VmRSS");
	const double before = cpu_ms();

	if (saved_read_bytes(bytes->text, bytes->n, "file", &p, &e))
		exit(1);
	f->ms[round] = cpu_ms() - before;
	f->kib = memory_kib("VmHWM") - before_kib;
	profile_free(p);
}

static void measure_merging(const struct profile *p, unsigned keep, size_t round, struct figures *f)
{
	forget_peak();

	const long before_kib = memory_kib("VmRSS");
	const double before = cpu_ms();
	struct profile *merged = profile_merge(&p, 1, keep);

	f->ms[round] = cpu_ms() - before;
	f->kib = memory_kib("VmHWM") - before_kib;
	profile_free(merged);
}

static void print_figures(const char *name, struct figures *f, size_t rounds)
{
	(void)printf("%-16s %9.1f ms %6.2f %8.1f MiB %9.2f MiB\n", name, median(f->ms, rounds),
		     median(f->ratio, rounds), (double)f->kib / 1024, (double)f->bytes / (1 << 20));
}

static const char *const kinds[] = { "read pprof", "read html", "merge all", "merge names" };

int main(int argc, char **argv)
{
	const size_t rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 5;
	const uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 200000;
	const uint32_t depth = argc > 3 ? (uint32_t)strtoul(argv[3], NULL, 10) : 5;
	static struct figures of_forms[MOST_FORMS], others[4];
	struct strbuf pprof = {}, html = {};
	const struct render_style style = {};

	if (rounds < 1 || rounds > MOST_ROUNDS || depth < 5 || depth > 1024)
		return 2;

	struct profile *p = make_profile(n, depth);

	profile_choose(p, 0, 0);
	if (render_pprof(p, &style, keep_bytes, &pprof) ||
	    render_html(p, &style, keep_bytes, &html))
		return 1;
	for (size_t round = 0; round < rounds; round++) {
		size_t folded = 0;

		for (size_t i = 0; renderers[i].name; i++) {
			if (argc <= 4 || strcmp(renderers[i].name, argv[4]) == 0)
				measure_form(p, &renderers[i], round, &of_forms[i]);
			if (strcmp(renderers[i].name, "folded") == 0)
				folded = i;
		}
		if (argc > 4)
			continue;
		measure_reading(&pprof, round, &others[0]);
		measure_reading(&html, round, &others[1]);
		measure_merging(p, KEEP_ALL, round, &others[2]);
		measure_merging(p, 0, round, &others[3]);
		for (size_t i = 0; i < MOST_FORMS; i++)
			of_forms[i].ratio[round] =
				of_forms[i].ms[round] / of_forms[folded].ms[round];
		for (size_t i = 0; i < ARRAY_SIZE(others); i++)
			others[i].ratio[round] = others[i].ms[round] / of_forms[folded].ms[round];
	}
	(void)printf("%-16s %12s %6s %12s %13s\n", "form", "CPU time", "ratio", "memory", "bytes");
	for (size_t i = 0; renderers[i].name; i++)
		print_figures(renderers[i].name, &of_forms[i], rounds);
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		print_figures(kinds[i], &others[i], rounds);
	return 0;
}
