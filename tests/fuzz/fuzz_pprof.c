// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Any bytes as a pprof file, unpacked. They are a profile, or are refused with a reason that names
 * the file. A profile is the same when it is written and read again: the same sums, and from the
 * second time on the same bytes. (The first time, names that are not UTF-8 change.)
 */
#include "fuzz.h"

#include "base/strbuf.h"
#include "profile/changes.h"
#include "profile/pprof.h"
#include "profile/saved.h"
#include "report/render.h"

static int to_strbuf(void *context, const char *bytes, size_t n)
{
	strbuf_put(context, bytes, n);
	return 0;
}

static void check_profile(const struct profile *p)
{
	struct changes *changes = p->is_difference ? changes_of_difference(p) : NULL;
	const struct render_style style = {
		.offsets = true, .addresses = true, .per_process = true, .changes = changes
	};
	struct strbuf text = {};
	int64_t total = p->hidden;

	require(p->n_values >= 1 && p->n_values <= PROFILE_MOST_VALUES);
	for (size_t i = 0; i < p->n_stacks; i++) {
		const struct profile_stack *stack = &p->stacks[i];

		total += stack->count;
		for (size_t k = 0; k < stack->n_kernel + stack->n_user; k++)
			require(stack->frames[k] < p->frames.n);
	}
	require(total == p->total);
	for (size_t i = 0; i < p->frames.n; i++)
		require(p->frames.frames[i].image == NO_IMAGE ||
			p->frames.frames[i].image < p->frames.n_images);
	for (size_t i = 0; i < p->n_parts; i++)
		require(p->parts[i].stack < p->n_stacks && p->parts[i].slice < p->n_slices);
	require(render_text(p, &style, to_strbuf, &text) == 0);
	require(render_folded(p, &style, to_strbuf, &text) == 0);
	strbuf_fini(&text);
	changes_free(changes);
}

/* Write @p to @bytes, and return what is read from them. */
static struct profile *again(const struct profile *p, struct strbuf *bytes)
{
	const struct render_style style = {};
	struct profile *ret = NULL;
	struct error e = {};

	require(render_pprof(p, &style, to_strbuf, bytes) == 0);
	require(saved_read_bytes(bytes->text, bytes->n, "again", &ret, &e) == 0);
	check_profile(ret);
	require(ret->total == p->total && ret->n_values == p->n_values &&
		ret->is_difference == p->is_difference && ret->n_losses == p->n_losses);
	return ret;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *first = NULL, *second, *third, *fourth;
	struct strbuf bytes[3] = {};
	struct error e = {};

	if (pprof_read(data, size, "file", &first, &e)) {
		require(!first && strncmp(e.text, "file: ", 6) == 0);
		return 0;
	}
	check_profile(first);
	second = again(first, &bytes[0]);
	third = again(second, &bytes[1]);
	fourth = again(third, &bytes[2]);
	require(bytes[1].n == bytes[2].n && memcmp(bytes[1].text, bytes[2].text, bytes[1].n) == 0);
	for (size_t i = 0; i < 3; i++)
		strbuf_fini(&bytes[i]);
	profile_free(first);
	profile_free(second);
	profile_free(third);
	profile_free(fourth);
	return 0;
}
