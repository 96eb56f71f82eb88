// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The layout of bcc's profile:
 *
 *	    vfs_read_[k]                     the annotation with -a
 *	    --                               with -d, if there are both stacks
 *	    __read
 *	    main
 *	    -                tar (15187)
 *	        5
 *	(empty)
 */
#include "report/render_profile.h"

#define ANNOTATION "_[k]"

static void put_profile_frames(struct writer *w, struct labels *labels, const uint32_t *frames,
			       size_t n, bool is_annotated)
{
	for (size_t i = 0; i < n; i++) {
		size_t length;
		const char *line = labels_get(labels, frames[i], &length);

		writer_puts(w, "  "); /* besides the two blanks of the line */
		if (is_annotated) {
			writer_put(w, line, length - 1);
			writer_puts(w, ANNOTATION "\n");
		} else {
			writer_put(w, line, length);
		}
	}
}

void render_profile_stack(struct writer *w, struct labels *labels,
			  const struct profile_stack *stack, const struct render_style *style)
{
	struct strbuf *scratch = &w->scratch;

	put_profile_frames(w, labels, stack->frames, stack->n_kernel, style->annotated);
	if (style->delimited && stack->n_kernel && stack->n_user)
		writer_puts(w, "    --\n");
	put_profile_frames(w, labels, stack->frames + stack->n_kernel, stack->n_user, false);
	strbuf_clear(scratch);
	label_put_comm(scratch, stack->comm, LABEL_TEXT);
	writer_puts(w, "    -                ");
	writer_put(w, scratch->text, scratch->n);
	writer_puts(w, " (");
	writer_put_u64(w, stack->pid);
	writer_puts(w, ")\n        ");
	writer_put_i64(w, stack->count);
	writer_puts(w, "\n\n");
}
