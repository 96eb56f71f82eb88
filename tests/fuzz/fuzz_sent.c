// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * The process that matches may send any bytes. Either they are targets, and the same ones if they
 * are sent once more, or the list is as it was.
 */
#include "fuzz.h"

#include "match/matcher.h"

#define MOST 100

static void check_texts(const struct target_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		const struct target *t = &list->targets[i];

		require(t->kind == TARGET_USDT ||
			((t->kind == TARGET_USER_FUNCTION || t->kind == TARGET_USER_RETURN) &&
			 t->symbol));
		require(strlen(t->path) + strlen(t->name) < SIZE_MAX);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct target_list list = {}, again = {};
	struct strbuf bytes = {}, more = {};

	if (sent_take((const char *)data, size, MOST, &list)) {
		require(list.n <= MOST);
		check_texts(&list);
		sent_put(&list, 0, &bytes);
		require(sent_take(bytes.text, bytes.n, MOST, &again));
		sent_put(&again, 0, &more);
		require(bytes.n == more.n &&
			(!more.n || memcmp(bytes.text, more.text, more.n) == 0));
	} else {
		require(list.n == 0);
	}
	strbuf_fini(&bytes);
	strbuf_fini(&more);
	target_list_fini(&list);
	target_list_fini(&again);
	return 0;
}
