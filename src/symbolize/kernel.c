#include "symbolize/kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/cleanup.h"
#include "base/hash.h"
#include "base/log.h"

#define SYMBOLS "/proc/kallsyms"
#define MODULES "/proc/modules"

void kernel_names_fini(struct kernel_names *k)
{
	kallsyms_free(k->own);
	free(k->trouble);
	*k = (struct kernel_names){};
}

void kernel_names_refresh(struct kernel_names *k)
{
	k->is_checked = false;
	k->is_reread = false;
}

/*
 * One number for which modules are where. Not of the whole text: its third
 * column counts users and changes all the time.
 *
 *	ext4 1056768 1 - Live 0xffffffffc0401000
 */
static uint64_t modules_now(void)
{
	cleanup_fclose FILE *f = fopen(MODULES, "re");

	if (!f)
		return 0;

	cleanup_free char *line = NULL;
	size_t capacity = 0;
	uint64_t all = 0;

	while (getline(&line, &capacity, f) > 0) {
		const char *name_end = strchr(line, ' ');
		const char *address = strrchr(line, ' ');

		if (!name_end)
			continue;
		all = hash_mix(all ^ hash_bytes(line, name_end - line));
		all = hash_mix(all ^ hash_bytes(address, strlen(address)));
	}
	return all;
}

static void read_first(struct kernel_names *k)
{
	struct error e;

	k->is_read = true;
	k->modules = modules_now();
	if (host_kallsyms(k->host, &k->symbols, &e) == 0)
		return;
	k->symbols = NULL;
	k->trouble = xstrdup(e.text);
}

/* The host's table stays as it is: others hold names that it lends. */
static bool read_again(struct kernel_names *k)
{
	struct kallsyms *fresh = NULL;
	struct error e;

	k->is_reread = true;
	k->modules = modules_now();
	if (kallsyms_read(SYMBOLS, MODULES, &fresh, &e) != 0) {
		log_debug("names of newly loaded modules are missing: %s", e.text);
		return false;
	}
	kallsyms_free(k->own);
	k->own = fresh;
	k->symbols = fresh;
	return true;
}

bool kernel_names_update(struct kernel_names *k)
{
	if (k->is_checked)
		return false;
	k->is_checked = true;
	if (!k->is_read) {
		read_first(k);
		return true;
	}
	return k->symbols && modules_now() != k->modules && read_again(k);
}

/*
 * That no module was loaded does not say that nothing is new: BPF programs and
 * trampolines are listed in kallsyms only. Ours may be among them, when the
 * symbols were read before it was loaded.
 */
bool kernel_names_at(struct kernel_names *k, uint64_t addr, struct kernel_symbol *ret,
		     bool *is_changed)
{
	*is_changed = false;
	if (!k->symbols)
		return false;
	if (kallsyms_at(k->symbols, addr, ret))
		return true;
	if (k->is_reread)
		return false;
	*is_changed = read_again(k);
	return *is_changed && kallsyms_at(k->symbols, addr, ret);
}
