// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * One record of perf's ring buffer (include/uapi/linux/perf_event.h), in bytes:
 *
 *	header  u32 type, u16 misc, u16 size (of all, a multiple of 8)
 *	FORK, EXIT  u32 pid, ppid, tid, ptid; u64 time
 *	COMM    u32 pid, tid; text
 *	MMAP2   u32 pid, tid; u64 addr, len, pgoff; 24 bytes; u32 prot, flags; text
 *	        the 24 bytes: u32 maj, min; u64 ino, ino_generation
 *	        or, for an event with attr.build_id: u8 size, 3 unused; u8 build_id[20]
 *	LOST    u64 id, lost
 *	SAMPLE  u32 pid, tid
 *	trailer u64 time, id
 *
 * PERF_RECORD_MISC_MMAP_BUILD_ID marks a build ID. But the kernel does not clear the flag when the
 * record goes to the next event. So any user's event with attr.build_id sets it for others, too. We
 * believe the flag only of our own event with attr.build_id.
 *
 * Texts end with a NUL and are padded with others. A path is what d_path() makes of it in the
 * process itself; it is not escaped.
 */
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "base/array.h"
#include "processes/sideband_ring.h"

/* The part of a record that is not parsed yet, without the trailer. */
struct bytes {
	uint8_t *at;
	size_t n;
};

/* The next @n bytes; NULL: there are fewer. */
static uint8_t *next_bytes(struct bytes *b, size_t n)
{
	uint8_t *at = b->at;

	if (n > b->n)
		return NULL;
	b->at += n;
	b->n -= n;
	return at;
}

/* The rest as a text; NULL: it does not end. */
static char *parse_text(struct bytes *b)
{
	return memchr(b->at, '\0', b->n) ? (char *)b->at : NULL;
}

/* No process of our PID namespace (0), or not any more (-1). */
static bool is_elsewhere(uint32_t pid)
{
	return pid == 0 || pid > INT32_MAX;
}

static enum record_meaning parse_task(struct bytes *b, uint16_t misc, struct process_event *ret)
{
	uint32_t ids[4];
	const uint8_t *at = next_bytes(b, sizeof(ids) + sizeof(uint64_t));

	(void)misc;
	if (!at)
		return RECORD_MALFORMED;
	memcpy(ids, at, sizeof(ids));
	ret->pid = ids[0];
	ret->tid = ids[2];
	if (ret->type == PROCESS_FORK) {
		ret->parent_pid = is_elsewhere(ids[1]) ? 0 : ids[1];
		ret->parent_tid = is_elsewhere(ids[3]) ? 0 : ids[3];
	}
	return RECORD_EVENT;
}

static bool parse_thread(struct bytes *b, struct process_event *ret)
{
	uint32_t ids[2];
	const uint8_t *at = next_bytes(b, sizeof(ids));

	if (!at)
		return false;
	memcpy(ids, at, sizeof(ids));
	ret->pid = ids[0];
	ret->tid = ids[1];
	return true;
}

static enum record_meaning parse_comm(struct bytes *b, uint16_t misc, struct process_event *ret)
{
	if (!parse_thread(b, ret))
		return RECORD_MALFORMED;
	ret->comm = parse_text(b);
	if (misc & PERF_RECORD_MISC_COMM_EXEC)
		ret->type = PROCESS_EXEC;
	return ret->comm ? RECORD_EVENT : RECORD_MALFORMED;
}

/* The kernel writes these texts if it has no path. Then it gives no inode either. */
static const char *real_path(const char *path)
{
	static const char *const texts[][2] = { { "//anon", "" },
						{ "//enomem", "[path not known]" },
						{ "//toolong", "[path too long]" } };

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		if (strcmp(path, texts[i][0]) == 0)
			return texts[i][1];
	return path;
}

static bool set_map_path(char *path, struct mapping *m)
{
	if (!path)
		return false;

	size_t n = strlen(path);

	m->is_deleted = mapping_cut_deleted(path, &n);
	path[n] = '\0';
	m->path = real_path(path);
	return true;
}

static enum record_meaning set_map_file(const uint8_t at[24], struct process_event *ret)
{
	uint32_t dev[2];

	memcpy(dev, at, sizeof(dev));
	memcpy(&ret->map.inode, at + 8, 8);
	ret->map.dev = ret->map.inode ? makedev(dev[0], dev[1]) : 0;
	return RECORD_EVENT;
}

static enum record_meaning set_build_id(const uint8_t at[24], struct process_event *ret)
{
	ret->n_build_id = at[0];
	ret->build_id = at + 4;
	return ret->n_build_id <= MAX_BUILD_ID ? RECORD_BUILD_ID : RECORD_MALFORMED;
}

static enum record_meaning parse_map(struct bytes *b, uint16_t misc, struct process_event *ret)
{
	uint64_t place[3];
	uint32_t prot;

	if (!parse_thread(b, ret))
		return RECORD_MALFORMED;

	const uint8_t *at = next_bytes(b, sizeof(place)), *file = next_bytes(b, 24),
		      *flags = next_bytes(b, 8);

	if (!at || !file || !flags || !set_map_path(parse_text(b), &ret->map))
		return RECORD_MALFORMED;
	memcpy(place, at, sizeof(place));
	memcpy(&prot, flags, sizeof(prot));
	ret->map.start = place[0];
	ret->map.end = place[0] + place[1];
	ret->map.offset = place[2];
	if (ret->map.end <= ret->map.start)
		return RECORD_MALFORMED;
	if (!(prot & PROT_EXEC))
		return RECORD_OTHER;
	return misc & PERF_RECORD_MISC_MMAP_BUILD_ID ? set_build_id(file, ret)
						     : set_map_file(file, ret);
}

static enum record_meaning parse_lost(struct bytes *b, uint16_t misc, struct process_event *ret)
{
	const uint8_t *at = next_bytes(b, 16);

	(void)misc;
	if (!at)
		return RECORD_MALFORMED;
	memcpy(&ret->n_lost, at + 8, sizeof(ret->n_lost));
	return RECORD_EVENT;
}

/* From the tracepoint: no other event has samples. */
static enum record_meaning parse_sample(struct bytes *b, uint16_t misc, struct process_event *ret)
{
	(void)misc;
	return parse_thread(b, ret) ? RECORD_EVENT : RECORD_MALFORMED;
}

static const struct {
	uint32_t record;
	enum process_event_type type;
	enum record_meaning (*parse)(struct bytes *b, uint16_t misc, struct process_event *ret);
} parsers[] = {
	{ PERF_RECORD_FORK, PROCESS_FORK, parse_task },
	{ PERF_RECORD_COMM, PROCESS_COMM, parse_comm },
	{ PERF_RECORD_MMAP2, PROCESS_MAP, parse_map },
	{ PERF_RECORD_EXIT, PROCESS_EXIT, parse_task },
	{ PERF_RECORD_LOST, PROCESS_LOST, parse_lost },
	{ PERF_RECORD_SAMPLE, PROCESS_SHARE, parse_sample },
};

/*
 * Does the first event write the same record? @header is from the event for build IDs. The kernel
 * also sends it records of tasks, as to each event with attr.mmap.
 */
static bool is_double_record(const struct perf_event_header *header)
{
	if (header->type == PERF_RECORD_MMAP2)
		return !(header->misc & PERF_RECORD_MISC_MMAP_BUILD_ID);
	return header->type != PERF_RECORD_LOST;
}

static enum record_meaning parse_body(const struct perf_event_header *header, struct bytes *b,
				      struct process_event *ret)
{
	for (size_t i = 0; i < ARRAY_SIZE(parsers); i++) {
		if (header->type != parsers[i].record)
			continue;
		ret->type = parsers[i].type;

		enum record_meaning meaning = parsers[i].parse(b, header->misc, ret);

		if (meaning == RECORD_EVENT && ret->type != PROCESS_LOST && is_elsewhere(ret->pid))
			return RECORD_OTHER;
		return meaning;
	}
	return RECORD_OTHER;
}

enum record_meaning sideband_parse(uint8_t *record, size_t n, uint64_t build_id_event,
				   struct process_event *ret)
{
	struct perf_event_header header;
	struct record_trailer trailer;

	*ret = (struct process_event){};
	if (n < sizeof(header) + sizeof(trailer))
		return RECORD_MALFORMED;
	memcpy(&header, record, sizeof(header));
	memcpy(&trailer, record + n - sizeof(trailer), sizeof(trailer));
	ret->time = trailer.time;
	if (!build_id_event || trailer.event != build_id_event)
		header.misc &= (uint16_t)~PERF_RECORD_MISC_MMAP_BUILD_ID;
	else if (is_double_record(&header))
		return RECORD_OTHER;

	struct bytes body = { record + sizeof(header), n - sizeof(header) - sizeof(trailer) };

	return parse_body(&header, &body, ret);
}
