// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Facts may come late, or not at all. Times decide in three cases:
 *
 * - The tool reads events in batches. So a look at /proc may already show the next program, before
 *   its event has come. Then forget_look() takes it back.
 * - BPF counts an exec at its end, but the kernel changes the name in the midst: program_at().
 * - Records were lost. After that, the tool trusts nothing that it knew of running processes:
 *   on_lost_event().
 */
#include "processes/model.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/memory.h"
#include "base/strtab.h"
#include "kernel/host.h"

/* At this many keys, the older half is forgotten. */
#define MOST_KEYS 65536

/* Ended programs are forgotten when all are 1.5 * n_last plus MANY_PROGRAMS, */
#define MANY_PROGRAMS 4096
/* but not before a notice of their first hit must have come. */
#define FORGET_NS (5 * NS_PER_S)

/*
 * The bound of model_bytes(). Beyond it, programs and mappings are forgotten until FIT_BYTES are
 * left. Running programs always stay, so more may be left. The next try then comes after another
 * STEP_BYTES.
 */
#define MOST_BYTES ((size_t)24 << 20)
#define FIT_BYTES (MOST_BYTES / 4 * 3)
#define STEP_BYTES (MOST_BYTES / 8)

/* Hundreds of regions; few programs have so many of their own. */
#define LARGE_BYTES ((size_t)16 << 10)

/* One run of one program in one process. It begins with fork or exec, and ends with exec or exit.
 */
struct program {
	uint32_t tgid;
	uint32_t user;      /* the real user at the hit; or USER_UNKNOWN */
	bool is_exec;       /* it began with exec */
	bool is_whole;      /* @space is complete, and events report all changes */
	bool is_seen;       /* it was hit */
	uint64_t begin;     /* 0: before the run */
	uint64_t began;     /* the same, though a loss has cut it into several */
	uint64_t end;       /* when the next program of this number began; UINT64_MAX: none has */
	uint64_t exited;    /* when its first thread ended; UINT64_MAX: it has not */
	uint64_t looked_at; /* time of the last look at /proc; 0: never */
	uint64_t looked_in; /* period of the last try of a look; 0: none */
	uint64_t kept;      /* period of the last question about it; 0: none */
	uint64_t walked;    /* when processes_walk() was called last; 0: never */
	uint64_t rank;      /* for forget_least() */
	char comm[COMM_BYTES]; /* the last name; "": not known */
	struct program *older; /* the former program of this number */
	struct space *space;   /* one user of it is this program; NULL: see forget_marked() */
	struct mapper mapper;
};

/* A process by its key, as rows of hits have it. */
struct keyed {
	uint64_t key;
	uint64_t first;        /* its first hit; 0: not known */
	uint64_t since;        /* see program_at() */
	uint64_t used_in;      /* processes.period of the last question */
	char comm[COMM_BYTES]; /* at the first hit; "": not known */
};

struct processes {
	struct images *images;
	struct spaces spaces;
	uint64_t period; /* the number of the present period; the first is 1 */

	/* Programs of all processes. */
	struct u64_map newest;  /* tgid -> index in @heads */
	struct program **heads; /* the newest program of each process */
	size_t n_heads, cap_heads;
	size_t n_programs, n_last; /* now, and after some were forgotten last */
	uint64_t n_dropped; /* programs that the bound of memory took, though reports need them */
	size_t bytes;       /* of programs, without spaces */
	size_t least;       /* lowest model_bytes() since fit_memory() forgot some */

	struct u64_map by_key; /* index in @keys */
	struct keyed *keys;
	size_t n_keys, cap_keys;
	struct {
		uint64_t key, time;
		struct program *program; /* NULL: none is kept */
	} last;             /* answer of program_of(): the frames of a stack ask for one */
	uint64_t n_unnamed; /* forgotten keys that had the only name of their process */
	bool is_any_late;   /* a list did not come in time: see processes_settle() */
	size_t hit_at;      /* index in @heads, for processes_read_hit() */
	size_t n_unread;    /* heads from there on that it has not looked at in this period */
};

/* --- programs of each process, one after the other --- */

/* The newest program of process @tgid; NULL: not known. */
static struct program *newest_program(const struct processes *ps, uint32_t tgid)
{
	const uint32_t *at = u64_map_get(&ps->newest, tgid);

	return at ? ps->heads[*at] : NULL;
}

/*
 * The program of process @tgid at @time (0: the newest). NULL: not known. @since is the time of the
 * last exec that BPF had counted at @time; 0 if there was none, UINT64_MAX if not known. If the
 * program began with a later exec, that exec was not over at @time, and the result is the program
 * before.
 */
static struct program *program_at(const struct processes *ps, uint32_t tgid, uint64_t time,
				  uint64_t since)
{
	struct program *program = newest_program(ps, tgid);

	while (program && time && program->begin > time)
		program = program->older;
	if (program && program->is_exec && program->begin > since && program->older)
		program = program->older;
	return program;
}

/*
 * Take back a look at @program that came after its end: it saw the next program. The look made the
 * space the program's own. To take it back also drops what events had told before.
 */
static void forget_look(struct processes *ps, struct program *program)
{
	if (program->looked_at < program->end)
		return;
	program->looked_at = 0;
	program->is_whole = false;
	program->comm[0] = '\0';
	space_drop(&ps->spaces, program->space);
	program->space = space_new(&ps->spaces);
}

/* A program begins at @time, and the former one ends. The program owns one use of @space. */
static struct program *begin_program(struct processes *ps, uint32_t tgid, uint64_t time,
				     struct space *space)
{
	struct program *program = xcalloc(1, sizeof(*program)), **link;
	bool is_new;
	const uint32_t i = *u64_map_put(&ps->newest, tgid, (uint32_t)ps->n_heads, &is_new);

	if (is_new)
		array_push(ps->heads, ps->n_heads, ps->cap_heads, NULL);
	*program = (struct program){
		.tgid = tgid,
		.begin = time,
		.began = time,
		.end = UINT64_MAX,
		.exited = UINT64_MAX,
		.user = USER_UNKNOWN,
		.mapper = { .pid = tgid, .root = -1 },
		.space = space,
	};
	for (link = &ps->heads[i]; *link && (*link)->begin > time; link = &(*link)->older)
		program->end = (*link)->begin;
	program->older = *link;
	*link = program;
	ps->last.program = NULL;
	ps->n_programs++;
	ps->bytes += sizeof(*program);
	if (program->older) {
		if (program->older->walked > time) /* processes_walk() meant this one */
			program->walked = program->older->walked;
		program->older->end = time;
		forget_look(ps, program->older);
	}
	return program;
}

/* The newest program of @tgid. If it is not known: an empty one that was there before the run. */
static struct program *current_program(struct processes *ps, uint32_t tgid)
{
	struct program *program = newest_program(ps, tgid);

	return program ? program : begin_program(ps, tgid, 0, space_new(&ps->spaces));
}

/* The time of its end; UINT64_MAX: it runs. */
static uint64_t program_over_at(const struct program *program)
{
	return earlier_time(program->end, program->exited);
}

/* No end of it is known. */
static bool program_runs(const struct program *program)
{
	return program_over_at(program) == UINT64_MAX;
}

/* Is its space complete, without a part that was forgotten since the last look? */
static bool program_is_all_known(const struct program *program)
{
	return program->is_whole && !program->space->is_forgotten;
}

static void set_comm(struct program *program, const char *comm)
{
	(void)snprintf(program->comm, sizeof(program->comm), "%.15s", comm);
}

static void read_comm(struct program *program)
{
	char comm[32] = "";

	host_pid_comm(program->tgid, comm, sizeof(comm));
	/* /proc adds what a worker does, or did last. The names of rescuers are longer there. */
	if (strncmp(comm, "kworker/", 8) == 0 && comm[8] != 'R')
		comm[strcspn(comm, "+-")] = '\0';
	if (comm[0])
		set_comm(program, comm);
}

/* --- bounds --- */

/* With that of held images. */
static size_t model_bytes(const struct processes *ps)
{
	return ps->bytes + ps->spaces.bytes + ps->images->held_bytes +
	       ps->cap_heads * sizeof(*ps->heads) + ps->newest.n_slots * sizeof(*ps->newest.slots);
}

static bool is_program_kept(const struct processes *ps, const struct program *program)
{
	return program->kept && program->kept + 2 > ps->period;
}

/* Free the programs without a space. */
static void forget_marked(struct processes *ps)
{
	size_t n = 0;

	ps->last.program = NULL;
	u64_map_clear(&ps->newest);
	for (size_t i = 0; i < ps->n_heads; i++) {
		struct program *head = ps->heads[i], **link = &head;

		for (struct program *p = head; p; p = *link) {
			if (p->space) {
				link = &p->older;
				continue;
			}
			*link = p->older;
			free(p);
		}
		if (!head)
			continue;
		*u64_map_put(&ps->newest, head->tgid, 0, NULL) = (uint32_t)n;
		ps->heads[n++] = head;
	}
	ps->n_heads = n;
}

/*
 * The order in which programs are forgotten: the lowest rank first. A rank is the time of an end,
 * or an inverse size plus one of these.
 *
 * What ended some seconds ago without a known hit goes first, then what IS_LARGE without one.
 * IS_OVER was hit, or ended just now, so that a notice may still come. Nobody can read its mappings
 * again.
 */
#define IS_LARGE (1ULL << 61)
#define IS_OVER (2ULL << 61)
#define RUNS (3ULL << 61)
#define RUNS_HIT (4ULL << 61)

/* If a program that ended before @before was hit, its notice has come. */
static uint64_t rank_of(const struct processes *ps, const struct program *p, uint64_t before)
{
	const bool runs = program_runs(p), is_hit = is_program_kept(ps, p) || (runs && p->is_seen);
	const uint64_t over_at = program_over_at(p), bytes = space_bytes(p->space);
	const uint64_t by_size = IS_LARGE - 1 - bytes;

	if (!is_hit && over_at < before)
		return over_at;
	if (!is_hit && bytes >= LARGE_BYTES)
		return IS_LARGE + by_size;
	if (!runs)
		return IS_OVER + over_at;
	return (is_hit ? RUNS_HIT : RUNS) + by_size;
}

/* Of the same size, the newest goes first: children that come later copy their parent's regions. */
static int compare_ranks(const void *left, const void *right)
{
	const struct program *const *a = left, *const *b = right;

	if ((*a)->rank != (*b)->rank)
		return (*a)->rank < (*b)->rank ? -1 : 1;
	return (*a)->begin > (*b)->begin ? -1 : (*a)->begin < (*b)->begin;
}

/* Forget all that is long over, and with @is_full as much of the rest as the bound demands. */
static void forget_least(struct processes *ps, uint64_t now, bool is_full)
{
	const uint64_t before = now > FORGET_NS ? now - FORGET_NS : 0;
	cleanup_free struct program **list = xcalloc(ps->n_programs, sizeof(struct program *));
	size_t n = 0;

	for (size_t i = 0; i < ps->n_heads; i++)
		for (struct program *p = ps->heads[i]; p; p = p->older)
			if (!program_runs(p) || space_bytes(p->space)) {
				p->rank = rank_of(ps, p, before);
				list[n++] = p;
			}
	qsort(list, n, sizeof(struct program *), compare_ranks);
	for (size_t i = 0;
	     i < n && (list[i]->rank < IS_LARGE || (is_full && model_bytes(ps) > FIT_BYTES)); i++) {
		struct program *program = list[i];

		if (program_runs(program)) { /* the next hit reads its mappings again */
			space_forget(&ps->spaces, program->space, now);
			program->looked_in = 0;
		} else { /* for forget_marked() */
			ps->n_dropped += is_program_kept(ps, program);
			space_drop(&ps->spaces, program->space);
			program->space = NULL;
			ps->bytes -= sizeof(*program);
			ps->n_programs--;
		}
	}
	forget_marked(ps);
}

/*
 * Forget ended programs without a question, if there are many. Forget programs and mappings if all
 * take more than 24 MiB: ended programs without a question go first, live programs that were hit
 * last. Frees programs. A live program stays, but its space may be forgotten (space->is_forgotten).
 */
static void fit_memory(struct processes *ps, uint64_t now)
{
	const size_t bytes = model_bytes(ps);
	const bool are_many = ps->n_programs >= ps->n_last + ps->n_last / 2 + MANY_PROGRAMS;
	const bool is_full = bytes > MOST_BYTES && bytes >= ps->least + STEP_BYTES;

	images_forget_unused(ps->images);
	if (bytes < ps->least)
		ps->least = bytes;
	if (!are_many && !is_full)
		return;
	forget_least(ps, now, is_full);
	if (is_full)
		ps->least = model_bytes(ps);
	ps->n_last = ps->n_programs;
}

/* --- the model --- */

struct processes *processes_new(struct files *files)
{
	struct processes *ps = xcalloc(1, sizeof(*ps));

	ps->images = images_new(files);
	ps->spaces.images = ps->images;
	ps->period = 1;
	return ps;
}

void processes_free(struct processes *ps)
{
	if (!ps)
		return;
	for (size_t i = 0; i < ps->n_heads; i++) {
		for (struct program *program = ps->heads[i], *older; program; program = older) {
			older = program->older;
			space_drop(&ps->spaces, program->space);
			free(program);
		}
	}
	free(ps->heads);
	u64_map_fini(&ps->newest);
	images_free(ps->images);
	u64_map_fini(&ps->by_key);
	free(ps->keys);
	free(ps);
}

struct images *processes_images(const struct processes *ps)
{
	return ps->images;
}

struct forgotten processes_forgotten(const struct processes *ps)
{
	return (struct forgotten){ ps->n_dropped + ps->n_unnamed, ps->spaces.n_forgotten };
}

size_t processes_bytes(const struct processes *ps)
{
	return model_bytes(ps) + ps->cap_keys * sizeof(*ps->keys) +
	       ps->by_key.n_slots * sizeof(*ps->by_key.slots);
}

/* --- looks: reading mappings from /proc --- */

/*
 * Add the mappings of @list, which all exist now. Overlapped regions stay: events are newer, or
 * will correct them soon.
 *
 * Other users of the space keep what they have: the look may see a program that the space is not
 * of, because the record of its exec has not been read yet.
 */
static void add_list(struct processes *ps, struct program *program, const struct mapping_list *list)
{
	struct spaces *spaces = &ps->spaces;
	cleanup_free struct region *regions = xcalloc(list->n, sizeof(*regions));
	struct space *former = program->space;

	for (size_t i = 0; i < list->n; i++) {
		const struct mapping *m = &list->mappings[i];

		regions[i] = (struct region){ .start = m->start,
					      .end = m->end,
					      .offset = m->offset,
					      .image = images_add(ps->images, &program->mapper, m,
								  &(struct file_stamp){}),
					      .until = UINT64_MAX };
	}
	program->space = space_copy(spaces, former);
	space_drop(spaces, former);
	space_add_free(spaces, program->space, regions, list->n);
	program->space->is_forgotten = false;
}

/* Read the mappings of @tgid unless they are complete. */
static void read_mappings(struct processes *ps, uint32_t tgid)
{
	cleanup(file_list_fini) struct file_list read = {};
	struct program *program = newest_program(ps, tgid);
	struct error e;

	if (program && program_is_all_known(program))
		return;

	const int err = files_list(ps->images->files, tgid, false, &read, &e);
	const bool is_late = err == -ETIME || err == -EAGAIN;

	ps->is_any_late = ps->is_any_late || is_late;
	images_note_error(ps->images, err);
	if (err)
		log_debug("process %u: %s", tgid, e.text);
	if (is_late || (!err && read.list.n))
		program = current_program(ps, tgid);
	if (!program)
		return;
	program->looked_in = ps->period;
	/* A kernel thread, or a process that ends, has no mappings. */
	program->is_whole = program->is_whole || err == -ESRCH || (!err && !read.list.n);
	if (err || !read.list.n)
		return;
	program->mapper.pid = read.list.tid;
	images_find_root(ps->images, &program->mapper);
	add_list(ps, program, &read.list);
	if (program->is_seen)
		space_note_hit(ps->images, program->space);
	if (!program->comm[0])
		read_comm(program);
	program->is_whole = true;
	program->looked_at = clock_ns(CLOCK_MONOTONIC);
}

/* Mappings that were forgotten for their size are read again after a hit, or for a report. */
void processes_look(struct processes *ps, uint32_t tgid)
{
	const struct program *program = newest_program(ps, tgid);

	if (program && (program->space->is_forgotten || program->looked_in == ps->period))
		return;
	read_mappings(ps, tgid);
	fit_memory(ps, clock_ns(CLOCK_MONOTONIC));
}

bool processes_read_hit(struct processes *ps)
{
	for (; ps->n_unread && ps->n_heads; ps->n_unread--) {
		const struct program *program = ps->heads[ps->hit_at++ % ps->n_heads];

		if (program->is_seen && program_runs(program) && !program_is_all_known(program)) {
			ps->n_unread--;
			read_mappings(ps, program->tgid);
			return true;
		}
	}
	return false;
}

void processes_settle(struct processes *ps, uint64_t until)
{
	do {
		ps->is_any_late = false;
		ps->n_unread = ps->n_heads;
		while (clock_ns(CLOCK_MONOTONIC) < until && processes_read_hit(ps))
			;
	} while (ps->is_any_late && clock_ns(CLOCK_MONOTONIC) < until);
	fit_memory(ps, clock_ns(CLOCK_MONOTONIC));
}

/* The report is about the period that ends here, so programs used in it are kept. */
void processes_refresh(struct processes *ps)
{
	ps->period++;
	images_refresh(ps->images);
	ps->n_unread = ps->n_heads;
	fit_memory(ps, clock_ns(CLOCK_MONOTONIC));
}

/* --- events --- */

static void on_fork_event(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->parent_pid)
		return; /* a new thread */
	processes_look(ps, event->parent_pid);

	struct program *parent = current_program(ps, event->parent_pid);
	struct program *child =
		begin_program(ps, event->pid, event->time, space_copy(&ps->spaces, parent->space));

	if (parent->mapper.root < 0)
		images_find_root(ps->images, &parent->mapper);
	child->mapper.root = parent->mapper.root;
	child->is_whole = parent->is_whole;
	if (parent->walked && !child->walked)
		child->walked = event->time;
	if (event->parent_tid == event->parent_pid) /* else its name is another thread's */
		set_comm(child, parent->comm);
}

static void on_exec_event(struct processes *ps, const struct process_event *event)
{
	const int root = current_program(ps, event->pid)->mapper.root;
	struct program *program =
		begin_program(ps, event->pid, event->time, space_new(&ps->spaces));

	program->mapper.root = root; /* unless it has entered another one: images_find_root() */
	set_comm(program, event->comm);
	program->is_exec = true;
	program->is_whole = true;
}

static void on_map_event(struct processes *ps, const struct process_event *event,
			 struct process_news *news)
{
	struct program *program = current_program(ps, event->pid);
	const uint32_t newest = ps->images->n_made;
	struct file_stamp id = { .n = event->n_build_id, .mapped_at = event->time };

	if (id.n)
		memcpy(id.bytes, event->build_id, id.n);

	struct region region = {
		.start = event->map.start,
		.end = event->map.end,
		.offset = event->map.offset,
		.image = images_add(ps->images, &program->mapper, &event->map, &id),
		.from = event->time,
		.until = UINT64_MAX,
	};
	news->is_replaced = space_map(&ps->spaces, program->space, &region);
	news->is_new_file = region.image->number > newest && region.image->kind == IMAGE_FILE;
	news->has_mapped = program->walked;
	if (program->is_seen)
		images_note_hit(ps->images, region.image);
}

/*
 * After a loss, a process may run another program, or its number may belong to another process. A
 * program that began after @event->since may have mapped more than its events report. Keys may have
 * wrong programs: a hit after the loss may have been reported before the loss was.
 */
static void on_lost_event(struct processes *ps, const struct process_event *event)
{
	const uint64_t since = event->since;

	for (size_t i = 0; i < ps->n_heads; i++) {
		struct program *former = ps->heads[i], *program;

		if (former->begin > since) {
			former->is_whole = false;
			continue;
		}
		if (former->exited != UINT64_MAX ||
		    (!former->is_whole && !former->space->content->now.n))
			continue;
		program = begin_program(ps, former->tgid, since, space_new(&ps->spaces));
		program->began = former->began;
		program->mapper.root = former->mapper.root;
		program->walked = former->walked;
		program->is_seen = former->is_seen; /* the same program gives no second notice */
		program->user = former->user;
	}
}

/* A process has the name of its first thread. */
static void on_comm_event(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->tid)
		set_comm(current_program(ps, event->pid), event->comm);
}

static void on_end_event(struct processes *ps, const struct process_event *event)
{
	if (event->pid == event->tid)
		current_program(ps, event->pid)->exited = event->time;
}

struct process_news processes_event(struct processes *ps, const struct process_event *event)
{
	static void (*const on_event[])(struct processes *, const struct process_event *) = {
		[PROCESS_FORK] = on_fork_event, [PROCESS_EXEC] = on_exec_event,
		[PROCESS_COMM] = on_comm_event, [PROCESS_EXIT] = on_end_event,
		[PROCESS_LOST] = on_lost_event,
	};
	const bool is_ours = event->pid && event->pid != UINT32_MAX; /* of our PID namespace */
	struct process_news news = {};

	if (!is_ours && event->type != PROCESS_LOST)
		return news;
	if (event->type == PROCESS_EXEC ||
	    (event->type == PROCESS_EXIT && event->pid == event->tid))
		news.is_over = current_program(ps, event->pid)->walked;
	if (event->type == PROCESS_MAP)
		on_map_event(ps, event, &news);
	else
		on_event[event->type](ps, event);
	fit_memory(ps, event->time);
	return news;
}

void processes_walk(struct processes *ps, uint32_t tgid)
{
	current_program(ps, tgid)->walked = clock_ns(CLOCK_MONOTONIC);
}

bool processes_is_walked(const struct processes *ps, uint32_t tgid)
{
	const struct program *program = newest_program(ps, tgid);

	return program && program->walked;
}

/* --- keys --- */

/*
 * Rows still find their programs, by their own times. But if a process has no program, the key had
 * the only name, which matters to rows of this period or the last one.
 */
static void forget_oldest_keys(struct processes *ps)
{
	const size_t n = ps->n_keys / 2;

	for (size_t i = 0; i < n; i++)
		ps->n_unnamed += ps->keys[i].comm[0] && ps->keys[i].used_in + 1 >= ps->period &&
				 !newest_program(ps, tgid_of_key(ps->keys[i].key));
	ps->n_keys -= n;
	memmove(ps->keys, ps->keys + n, ps->n_keys * sizeof(*ps->keys));
	u64_map_clear(&ps->by_key);
	for (size_t i = 0; i < ps->n_keys; i++)
		(void)u64_map_put(&ps->by_key, ps->keys[i].key, (uint32_t)i, NULL);
}

/* The entry of @key, new if there was none. Lent until the next call. */
static struct keyed *keyed_of(struct processes *ps, uint64_t key)
{
	const uint32_t *at = u64_map_get(&ps->by_key, key);
	struct keyed *k;

	if (!at && ps->n_keys >= MOST_KEYS)
		forget_oldest_keys(ps);
	if (!at) {
		(void)u64_map_put(&ps->by_key, key, (uint32_t)ps->n_keys, NULL);
		array_push(ps->keys, ps->n_keys, ps->cap_keys,
			   ((struct keyed){ .key = key, .since = UINT64_MAX }));
	}
	k = at ? &ps->keys[*at] : &ps->keys[ps->n_keys - 1];
	k->used_in = ps->period;
	return k;
}

/*
 * The program at the first hit of @key; if that hit is not known, at @time. NULL: not known. Keeps
 * the program, and its files, until the second processes_refresh() from now.
 */
static struct program *program_of(struct processes *ps, uint64_t key, uint64_t time)
{
	const struct keyed *k = keyed_of(ps, key);
	struct program *program = ps->last.program;

	time = k->first ? k->first : time;
	if (!program || ps->last.key != key || ps->last.time != time) {
		/* A process that execs all the time has thousands of programs. */
		program = program_at(ps, tgid_of_key(key), time, k->since);
		ps->last = (__typeof__(ps->last)){ key, time, program };
	}
	if (program && program->kept != ps->period) {
		program->kept = ps->period;
		if (program->is_seen)
			space_note_hit(ps->images, program->space);
	}
	return program;
}

void processes_seen(struct processes *ps, uint64_t key, const struct notice *seen)
{
	const uint32_t tgid = tgid_of_key(key);
	struct program *program = newest_program(ps, tgid);
	struct keyed *k = keyed_of(ps, key);
	const bool is_first = !k->first;

	if (seen->time && (!k->first || seen->time < k->first)) {
		k->first = seen->time;
		k->since = seen->since;
		ps->last.program = NULL;
	}
	if (seen->comm[0])
		(void)snprintf(k->comm, sizeof(k->comm), "%s", seen->comm);
	/* Ask for a late list again with the next life, and for each report. */
	if (is_first || !program || program->looked_in != ps->period)
		read_mappings(ps, tgid);
	program = program_of(ps, key, 0);
	if (!program)
		return;
	program->user = seen->user;
	if (program_runs(program)) {
		images_find_root(ps->images, &program->mapper);
		if (!program->comm[0])
			read_comm(program);
	}
	if (!program->is_seen)
		space_note_hit(ps->images, program->space);
	program->is_seen = true; /* from here on, on_map_event() notes hits of its images */
	fit_memory(ps, clock_ns(CLOCK_MONOTONIC));
}

/* --- questions --- */

bool processes_at(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr,
		  struct place *ret)
{
	const struct program *program = program_of(ps, key, time);
	const struct region *region = program ? space_at(program->space, addr, time) : NULL;

	if (region)
		*ret = (struct place){
			.start = region->start,
			.offset = addr - region->start + region->offset,
			.limit = region->end,
			.image = region->image->number,
			.kind = region->image->kind,
			.is_memory = region->image->is_memory,
		};
	return region != NULL;
}

uint32_t processes_copied(struct processes *ps, uint64_t key, uint64_t time, uint64_t addr)
{
	const struct program *program = program_of(ps, key, time);
	const struct image_entry *image = program ? space_copied(program->space, addr, time) : NULL;

	return image ? image->number : IMAGE_NONE;
}

bool processes_list(struct processes *ps, uint64_t key, uint64_t time, struct file_list *ret)
{
	const struct program *program = program_of(ps, key, time);
	cleanup_free struct region *regions = NULL;
	size_t n;

	if (!program)
		return false;
	n = space_regions(program->space, time, &regions);
	*ret = (struct file_list){
		.list = { .strings = strtab_new(),
			  .mappings = xcalloc(n + 1, sizeof(*ret->list.mappings)),
			  .n = n,
			  .capacity = n + 1 },
		.states = xcalloc(n + 1, sizeof(*ret->states)),
	};
	for (size_t i = 0; i < n; i++) {
		const struct image_entry *image = regions[i].image;
		const bool is_file = image->kind == IMAGE_FILE;

		ret->states[i] = image->file.fact;
		ret->list.mappings[i] = (struct mapping){ .start = regions[i].start,
							  .end = regions[i].end,
							  .offset = regions[i].offset,
							  .dev = is_file ? image->where.dev : 0,
							  .inode = is_file ? image->where.inode : 0,
							  .path = strtab_add(ret->list.strings,
									     image->where.path) };
	}
	return true;
}

uint64_t processes_epoch(struct processes *ps, uint64_t key, uint64_t time)
{
	const struct program *program = program_of(ps, key, time);

	return program ? space_epoch(program->space, time ? time : UINT64_MAX - 1) : 0;
}

void processes_comm(struct processes *ps, uint64_t key, uint64_t time, char ret[COMM_BYTES])
{
	const struct program *program;

	if (!tgid_of_key(key) && life_of_key(key)) { /* an idle task: see KEY_LIFE_SHIFT */
		(void)snprintf(ret, COMM_BYTES, "swapper/%u", (uint16_t)(life_of_key(key) - 1));
		return;
	}
	program = program_of(ps, key, time);
	(void)snprintf(ret, COMM_BYTES, "%s",
		       program && program->comm[0] ? program->comm : keyed_of(ps, key)->comm);
}

static void describe_run(const struct program *program, struct program_run *ret)
{
	*ret = (struct program_run){
		.tgid = program->tgid,
		.user = program->user,
		.begin = program->began,
		.end = program_over_at(program),
		.root = program->mapper.root,
		.has_memory = program->space->content->has_memory,
	};
}

void processes_program(struct processes *ps, uint64_t key, uint64_t time, struct program_run *ret)
{
	const struct program *program = program_of(ps, key, time);

	*ret = (struct program_run){
		.tgid = tgid_of_key(key), .user = USER_UNKNOWN, .end = UINT64_MAX, .root = -1
	};
	if (program)
		describe_run(program, ret);
}

bool processes_hit(const struct processes *ps, uint32_t tgid, struct program_run *ret)
{
	const struct program *program = newest_program(ps, tgid);

	if (!program || !program->is_seen)
		return false;
	describe_run(program, ret);
	return true;
}
