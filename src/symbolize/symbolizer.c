// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "symbolize/symbolize.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "reader/debuginfod.h"
#include "symbolize/state.h"

struct symbolizer *symbolizer_new(struct host *host, struct processes *processes,
				  const struct symbolizer_options *options)
{
	const struct debuginfod_options servers = { options->helper, options->serve,
						    options->context };
	struct symbolizer *s = xcalloc(1, sizeof(*s));

	s->options = *options;
	s->strings = strtab_new();
	s->process_strings = strtab_new();
	kernel_names_init(&s->kernel, host);
	(void)symbolizer_kernel_validity(s);
	s->processes = processes;
	s->images = processes_images(processes);

	const struct image_names_options names = {
		.files = options->names,
		.servers = options->no_debuginfod ? NULL : debuginfod_new(&servers),
		.has_none = options->no_names,
		.flags =
			(options->lines ? NAMES_LINES : 0U) | (options->raw_names ? NAMES_RAW : 0U),
	};

	s->image_names = image_names_new(s->images, &names);
	s->jit = jit_new(s->images, s->process_strings);
	return s;
}

/* Free frames, their names, and the cache that leads to them. */
static void free_names(struct symbolizer *s)
{
	u64_map_fini(&s->kernel_seen[0]);
	u64_map_fini(&s->kernel_seen[1]);
	seen_fini(&s->seen);
	frames_fini(&s->frames);
	frame_images_fini(&s->frame_images);
	strtab_free(s->strings);
}

void symbolizer_free(struct symbolizer *s)
{
	if (!s)
		return;
	log_few_end(&s->copied, "code in anonymous memory");
	jit_free(s->jit);
	image_names_free(s->image_names);
	kernel_names_fini(&s->kernel);
	free_names(s);
	strtab_free(s->process_strings);
	free(s);
}

void symbolizer_freep(struct symbolizer **s)
{
	symbolizer_free(*s);
	*s = NULL;
}

/* The bound of frame_bytes() between two reports: some 50,000 functions. */
#define MOST_FRAME_BYTES ((size_t)10 << 20)

static size_t frame_bytes(const struct symbolizer *s)
{
	return frames_bytes(&s->frames) + strtab_bytes(s->strings) + seen_bytes(&s->seen);
}

void symbolizer_trim(struct symbolizer *s)
{
	if (frame_bytes(s) <= MOST_FRAME_BYTES)
		return;
	free_names(s);
	s->kernel_seen[0] = s->kernel_seen[1] = (struct u64_map){};
	s->strings = strtab_new();
}

void symbolizer_refresh(struct symbolizer *s)
{
	kernel_names_refresh(&s->kernel);
	image_names_refresh(s->image_names);
	jit_refresh(s->jit);
}

void symbolizer_watch(struct symbolizer *s, const struct program_run *p)
{
	if (p->has_memory)
		jit_watch(s->jit, p);
}

void symbolizer_ended(struct symbolizer *s, uint32_t tgid, uint64_t time)
{
	jit_ended(s->jit, tgid, time);
}

const char *symbolizer_comm(struct symbolizer *s, uint64_t process, uint64_t time)
{
	char comm[COMM_BYTES];

	processes_comm(s->processes, process, time, comm);
	return strtab_add(s->process_strings, comm);
}

uint64_t symbolizer_epoch(const struct symbolizer *s, uint64_t process, uint64_t time)
{
	return processes_epoch(s->processes, process, time);
}

uint32_t symbolizer_growth(struct symbolizer *s, uint64_t process, uint64_t time)
{
	struct program_run program;

	processes_program(s->processes, process, time, &program);
	return jit_growth(s->jit, &program, time);
}

const struct frame_table *symbolizer_frames(const struct symbolizer *s)
{
	return &s->frames.table;
}

const char *symbolizer_kernel_trouble(const struct symbolizer *s)
{
	return s->kernel.trouble;
}
