/* spec/numbers.h - the values of options: seconds, counts, sizes and lists. Pure. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* "1", "0.25", "1.5": nanoseconds, > 0. @what names the option. Errors: -EINVAL. */
must_check int parse_seconds_ns(const char *what, const char *text, uint64_t *ret, struct error *e);

/* A whole number in [@min, @max], decimal. Errors: -EINVAL. */
must_check int parse_count(const char *what, const char *text, uint64_t min, uint64_t max,
			   uint64_t *ret, struct error *e);

/* "64M", "1G", "512k", "1048576" (bytes; k, M, G are 1024s). Errors: -EINVAL. */
must_check int parse_bytes(const char *what, const char *text, uint64_t *ret, struct error *e);

/* A growing set of small numbers, ascending, each once. Owned; zeroed is empty. */
struct number_list {
	uint32_t *numbers;
	size_t n;
	size_t capacity;
};

/* "3", "0,2", "0-3,7": added to @list (an option may be given several times). Errors: -EINVAL. */
must_check int parse_number_list(const char *what, const char *text, uint32_t min, uint32_t max,
				 struct number_list *list, struct error *e);
void number_list_fini(struct number_list *list);
